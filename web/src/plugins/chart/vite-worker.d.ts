/** The build gives the address of a worker for an import of this form. */
declare module "*?worker&url" {
  const url: string;
  export default url;
}
