/** Vite resolves such imports to the URL of a worker. */
declare module "*?worker&url" {
  const url: string;
  export default url;
}

/** Vite loads the styles with the module. */
declare module "*.css";
