/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of what is asked and answered over HTTP, and the forms it is checked against.
 */
import { type Form, parseForm } from "../../protocol/form.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";

/** Nothing (HTTP). */
export interface Nothing {
}

/** No, and why (HTTP). */
export interface Problem {
  /** The code as a name of its own: `urn:loom:problem:…` */
  readonly type: string;
  /** The code in words */
  readonly title: string;
  /** The status of the answer */
  readonly status: number;
  /** For people */
  readonly detail: string;
  /** Error code */
  readonly code: string;
  /** To be looked up in the server's log, or that of the request */
  readonly id: string;
  /** For programs */
  readonly details?: JsonObject;
}

/** A session (HTTP). */
export interface Session {
  /** Id of the session */
  readonly session_id: string;
  /** Its title */
  readonly title?: string;
  /** When it was made, in milliseconds since 1970 */
  readonly created_at: number;
  /** When it was made, or its latest run began or ended, in milliseconds since 1970 */
  readonly updated_at: number;
  /** The first record that is held; one past the last where none is */
  readonly first_event_id: number;
  /** The last record; 0 in a new session */
  readonly last_event_id: number;
  /** Bytes of the records held */
  readonly bytes: number;
  /** The place after the last record: what comes from now on */
  readonly cursor: string;
}

/** A session and its latest runs (HTTP). */
export interface SessionDetails {
  /** Id of the session */
  readonly session_id: string;
  /** Its title */
  readonly title?: string;
  /** When it was made, in milliseconds since 1970 */
  readonly created_at: number;
  /** When it was made, or its latest run began or ended, in milliseconds since 1970 */
  readonly updated_at: number;
  /** The first record that is held; one past the last where none is */
  readonly first_event_id: number;
  /** The last record; 0 in a new session */
  readonly last_event_id: number;
  /** Bytes of the records held */
  readonly bytes: number;
  /** The place after the last record: what comes from now on */
  readonly cursor: string;
  /** Its latest runs, newest first, at most 20 */
  readonly runs: readonly ({ readonly run_id: string; readonly status: "live" | "completed" | "error" | "cancelled"; readonly first_event_id: number; readonly last_event_id?: number; readonly started_at: number; readonly ended_at?: number; readonly code?: string; readonly request_id?: string; readonly agent?: string })[];
  /** A run is live, or a message waits */
  readonly is_busy: boolean;
  /** Messages that wait for their turn, the next first, at most 20 */
  readonly queued: readonly { readonly command_id: string; readonly run_id: string; readonly message: string; readonly agent?: string; readonly attachments?: readonly Json[]; readonly created_at: number }[];
}

/** Sessions, newest first (HTTP). */
export interface SessionList {
  /** The sessions */
  readonly sessions: readonly ({ readonly session_id: string; readonly title?: string; readonly created_at: number; readonly updated_at: number; readonly first_event_id: number; readonly last_event_id: number; readonly bytes: number; readonly cursor: string; readonly match?: { readonly where: "title" | "message" | "answer"; readonly snippet: string; readonly run_id?: string } })[];
  /** `after` of the next page; absent on the last */
  readonly next?: string;
}

/** Which sessions (HTTP). */
export interface ListSessions {
  /** At most so many, from 1 to 500; 50 when absent */
  readonly limit?: number;
  /** The id of the last one already listed: `next` of the answer before */
  readonly after?: string;
  /** Only those in whose title or conversation this is found */
  readonly q?: string;
}

/** A new session (HTTP). */
export interface CreateSession {
  /** Its id; made up when absent */
  readonly session_id?: string;
  /** Its title */
  readonly title?: string;
}

/** Another title (HTTP). */
export interface RenameSession {
  /** The title */
  readonly title: string;
}

/** Where the new session parts from the old; without a place it shares all up to the run that is live (HTTP). */
export interface ForkSession {
  /** The last thing both share */
  readonly checkpoint_id?: string;
  /** In its place: the last checkpoint up to this record */
  readonly after_event?: number;
  /** In place of both: all that was before this run began. Nothing goes on by itself; the next message does */
  readonly before_run?: string;
  /** Id of the new session; made up when absent */
  readonly session_id?: string;
  /** Its title; that of the old when absent, unless nothing is shared */
  readonly title?: string;
  /** Values in place of the checkpoint's, by channel */
  readonly state?: JsonObject;
}

/** A session that was forked (HTTP). */
export interface ForkedSession {
  /** Id of the session */
  readonly session_id: string;
  /** Its title */
  readonly title?: string;
  /** When it was made, in milliseconds since 1970 */
  readonly created_at: number;
  /** When it was made, or its latest run began or ended, in milliseconds since 1970 */
  readonly updated_at: number;
  /** The first record that is held; one past the last where none is */
  readonly first_event_id: number;
  /** The last record; 0 in a new session */
  readonly last_event_id: number;
  /** Bytes of the records held */
  readonly bytes: number;
  /** The place after the last record: what comes from now on */
  readonly cursor: string;
  /** From where it goes on; absent where nothing does */
  readonly checkpoint_id?: string;
}

/** Which part of a list (HTTP). */
export interface ListPage {
  /** At most so many, from 1 to 500; 50 when absent */
  readonly limit?: number;
  /** The id of the last one already listed: `next` of the answer before */
  readonly after?: string;
}

/** Checkpoints, newest first (HTTP). */
export interface Checkpoints {
  /** The checkpoints */
  readonly checkpoints: readonly { readonly checkpoint_id: string; readonly step: number; readonly checkpoint_ns: string; readonly run_id?: string; readonly event_id: number; readonly timestamp: string; readonly next?: readonly Json[] }[];
  /** `after` of the next page; absent on the last */
  readonly next?: string;
}

/** A checkpoint and its state (HTTP). */
export interface Checkpoint {
  /** Id of the checkpoint */
  readonly checkpoint_id: string;
  /** Super-step; 0 for the input */
  readonly step: number;
  /** Path of the subgraph; empty at the root */
  readonly checkpoint_ns: string;
  /** The run it belongs to */
  readonly run_id?: string;
  /** Its record */
  readonly event_id: number;
  /** ISO 8601 */
  readonly timestamp: string;
  /** Node runs of the next super-step */
  readonly next?: readonly Json[];
  /** The state, whole */
  readonly state: Json;
}

/** Runs, newest first (HTTP). */
export interface Runs {
  /** The runs */
  readonly runs: readonly ({ readonly run_id: string; readonly status: "live" | "completed" | "error" | "cancelled"; readonly first_event_id: number; readonly last_event_id?: number; readonly started_at: number; readonly ended_at?: number; readonly code?: string; readonly request_id?: string; readonly agent?: string })[];
  /** `after` of the next page; absent on the last */
  readonly next?: string;
}

/** A run (HTTP). */
export interface Run {
  /** Id of the run */
  readonly run_id: string;
  /** How it stands */
  readonly status: "live" | "completed" | "error" | "cancelled";
  /** Its first record */
  readonly first_event_id: number;
  /** Its last record; absent while it is live */
  readonly last_event_id?: number;
  /** When it began, in milliseconds since 1970 */
  readonly started_at: number;
  /** When it ended, in milliseconds since 1970 */
  readonly ended_at?: number;
  /** Why it did not complete */
  readonly code?: string;
  /** The caller's own id */
  readonly request_id?: string;
  /** Who answers */
  readonly agent?: string;
}

/** A message for an agent (HTTP). */
export interface StartRun {
  /** What the user says */
  readonly message: string;
  /** Which agent; the server's first when absent */
  readonly agent?: string;
  /** Id of the run; follows from the idempotency key when absent */
  readonly run_id?: string;
  /** The caller's own id, told in the stream */
  readonly request_id?: string;
  /** The caller's own, for whoever observes the run */
  readonly context?: JsonObject;
  /** Files the message speaks of */
  readonly attachments?: readonly { readonly blob_id: string; readonly name?: string }[];
  /** When another run is live: wait for its turn (when absent), be refused as `run_live`, or cancel the live one first */
  readonly when_busy?: "enqueue" | "reject" | "interrupt";
}

/** What became of a message (HTTP). */
export interface StartedRun {
  /** Id of the session */
  readonly session_id: string;
  /** Id of the run */
  readonly run_id: string;
  /** The idempotency key, or the one made up instead */
  readonly command_id: string;
  /** How it stands; `queued` until its turn comes */
  readonly status: "queued" | "live" | "completed" | "error" | "cancelled";
  /** The place before the run, or before the end where it has not begun */
  readonly cursor: string;
  /** Where its stream is */
  readonly events: string;
}

/** How a stream is told (HTTP). */
export interface StreamView {
  /** `loom`, `export`, `stream-event`, `engine` or `lumine`; `loom` when absent */
  readonly dialect?: string;
  /** Only these kinds of events, with commas between them, states whole: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints`, or `all`; when absent all but the states of graphs */
  readonly modes?: readonly string[];
}

/** Which frames of a session (HTTP). */
export interface ReadEvents {
  /** `loom`, `export`, `stream-event`, `engine` or `lumine`; `loom` when absent */
  readonly dialect?: string;
  /** Only these kinds of events, with commas between them, states whole: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints`, or `all`; when absent all but the states of graphs */
  readonly modes?: readonly string[];
  /** Go on after this place: a cursor, or the event_id of a record as digits. `Last-Event-ID` goes before it */
  readonly after?: string;
  /** Whole frames received since `after` */
  readonly skip?: number;
  /** Any cursor of the session that is meant, where `after` tells none */
  readonly of?: string;
  /** Go on when the end is reached */
  readonly follow?: boolean;
  /** At most so many frames */
  readonly limit?: number;
  /** Only this run, to its end; waited for where it has not begun */
  readonly run?: string;
}

/** A command of the control protocol (HTTP). */
export interface ControlCommand {
  /** What is asked */
  readonly type: "run" | "cancel" | "approve" | "todo";
  /** Asked again with the same id it is the same command */
  readonly id: string;
  /** The session of the address */
  readonly session: string;
}

/** A command was carried out, or waits (HTTP). */
export interface CommandDone {
  /** Always `ack` */
  readonly type: string;
  /** Id of the command */
  readonly id: string;
  /** What came of it */
  readonly result?: JsonObject;
  /** True: it waits; ask again with the same id */
  readonly pending?: boolean;
}

/** Why a run is stopped (HTTP). */
export interface CancelRun {
  /** Why */
  readonly reason?: string;
}

/** Whether a tool may be called (HTTP). */
export interface AnswerApproval {
  /** The answer */
  readonly decision: "approved" | "rejected";
  /** The arguments to call it with, where they were edited */
  readonly arguments?: JsonObject;
  /** That of the question; `approval_mismatch` where it is another */
  readonly digest?: string;
  /** Why */
  readonly reason?: string;
  /** Id of the run; the live one when absent */
  readonly run_id?: string;
}

/** Calls that wait for an answer (HTTP). */
export interface Approvals {
  /** In the order they were asked */
  readonly approvals: readonly { readonly call_id: string; readonly run_id: string; readonly name: string; readonly arguments: JsonObject; readonly event_id: number; readonly expires_at?: number; readonly digest?: string }[];
}

/** A change of an item of a to-do list (HTTP). */
export interface ChangeTodo {
  /** Whether it is done; unchanged when absent */
  readonly completed?: boolean;
  /** New text; unchanged when absent */
  readonly text?: string;
}

/** The agents of this server (HTTP). */
export interface Agents {
  /** The first answers messages that name none */
  readonly agents: readonly { readonly name: string; readonly kind: string; readonly is_adaptive?: boolean; readonly description?: string; readonly model?: string; readonly tools: readonly string[]; readonly is_default: boolean }[];
}

/** The providers of models (HTTP). */
export interface Models {
  /** Those that can be named */
  readonly providers: readonly { readonly name: string; readonly model?: string; readonly needs_key: boolean; readonly key_variable?: string; readonly has_key: boolean; readonly is_offline: boolean; readonly in_use: boolean }[];
  /** Those that agents of this server use */
  readonly models: readonly string[];
}

/** A message for an agent, as 003 has it (HTTP). */
export interface Chat {
  /** Goes on with this session; a new one when absent */
  readonly session_id?: string;
  /** What the user says; not needed to go on after `Last-Event-ID` */
  readonly content?: string;
  /** Which agent; the server's first when absent */
  readonly agent?: string;
}

/** Which chat to go on with (HTTP). */
export interface ChatPlace {
  /** Id of the session */
  readonly session_id: string;
  /** Which run; the latest when absent */
  readonly run?: string;
}

/** How a foreign stream is read (HTTP). */
export interface IngestQuery {
  /** Dialect of the body; told from its first eight frames when absent or `auto` */
  readonly dialect?: "auto" | "loom" | "export" | "engine" | "lumine" | "stream-event";
  /** How its frames are cut; told from `Content-Type`, else from its first bytes, when absent or `auto` */
  readonly framing?: "auto" | "ndjson" | "sse";
  /** For a run whose id the session has already: another id (default), or `run_exists` */
  readonly when_taken?: "rename" | "refuse";
}

/** What became of a foreign stream (HTTP). */
export interface IngestAnswer {
  /** Id of the session */
  readonly session_id: string;
  /** Dialect it was read in */
  readonly dialect: string;
  /** Frames that were taken */
  readonly frames: number;
  /** The runs, in the order they began */
  readonly runs: readonly ({ readonly run_id: string; readonly status: "live" | "completed" | "error" | "cancelled"; readonly code?: string; readonly first_event_id: number; readonly last_event_id: number })[];
  /** Rules that should be kept and were not: the first hundred */
  readonly warnings: readonly { readonly line: number; readonly rule: string; readonly message: string }[];
  /** How many there were in all */
  readonly warning_count: number;
}

/** An image or a file of a session (HTTP). */
export interface Blob {
  /** SHA-256 of the bytes, in hexadecimal */
  readonly blob_id: string;
  /** Where it is, on this server */
  readonly url: string;
  /** What it is, as whoever sent it says */
  readonly media_type: string;
  /** What the file is called */
  readonly name?: string;
  /** How long it is */
  readonly bytes: number;
  /** When it came first, in milliseconds since 1970 */
  readonly created_at: number;
}

/** The images and files of a session (HTTP). */
export interface Blobs {
  /** The oldest first */
  readonly blobs: readonly { readonly blob_id: string; readonly url: string; readonly media_type: string; readonly name?: string; readonly bytes: number; readonly created_at: number }[];
}

/** What a file is called (HTTP). */
export interface PutBlob {
  /** Its name; that of `Content-Disposition` when absent */
  readonly name?: string;
}

/** Which image (HTTP). */
export interface GetImage {
  /** Its address, which begins with https: */
  readonly url: string;
}

/** Documents of the knowledge base (HTTP). */
export interface KnowledgeDocuments {
  /** In the order of their ids */
  readonly documents: readonly ({ readonly document_id: string; readonly name: string; readonly title: string; readonly collection: string; readonly format: "markdown" | "text" | "html" | "pdf"; readonly bytes: number; readonly passages: number; readonly indexed_at: number })[];
  /** `after` of the next page; absent on the last */
  readonly next?: string;
  /** Of the whole base */
  readonly totals: { readonly documents: number; readonly passages: number; readonly bytes: number };
  /** All collections */
  readonly collections: readonly { readonly name: string; readonly documents: number }[];
  /** How names of files end that can be read */
  readonly accepts: readonly string[];
  /** How long a file may be */
  readonly max_document_bytes: number;
}

/** Which documents (HTTP). */
export interface ListKnowledge {
  /** At most so many, from 1 to 500; 50 when absent */
  readonly limit?: number;
  /** The id of the last one already listed: `next` of the answer before */
  readonly after?: string;
  /** Only in this collection; in all when absent */
  readonly collection?: string;
}

/** A document that was taken in (HTTP). */
export interface AddedDocument {
  /** What it is known by: a name, a path or an address */
  readonly document_id: string;
  /** The last part of that */
  readonly name: string;
  /** Its title */
  readonly title: string;
  /** Where it is kept */
  readonly collection: string;
  /** How it was read */
  readonly format: "markdown" | "text" | "html" | "pdf";
  /** How long it is */
  readonly bytes: number;
  /** Passages it was cut into */
  readonly passages: number;
  /** When it was taken in, in milliseconds since 1970 */
  readonly indexed_at: number;
  /** It is new, it took the place of another of its name, or it was there already */
  readonly outcome: "added" | "updated" | "unchanged";
}

/** What a document is called (HTTP). */
export interface AddDocument {
  /** Name of the file, without a folder */
  readonly name: string;
  /** Where it is kept; as it was, or `default`, when absent */
  readonly collection?: string;
}

/** What is looked for (HTTP). */
export interface SearchKnowledge {
  /** A question, or words */
  readonly q: string;
  /** At most so many passages, from 1 to 50; 10 when absent */
  readonly limit?: number;
  /** Only in this collection; in all when absent */
  readonly collection?: string;
}

/** Passages that were found (HTTP). */
export interface KnowledgeHits {
  /** The best first */
  readonly hits: readonly { readonly document_id: string; readonly name: string; readonly title: string; readonly collection: string; readonly score: number; readonly snippet: string; readonly content: string; readonly first_line: number; readonly last_line: number; readonly headings: readonly string[] }[];
}

/** Who asks, and what they may (HTTP). */
export interface Auth {
  /** Whether anybody is asked who they are */
  readonly mode: "open" | "required";
  /** Whether somebody is known by a token */
  readonly signed_in: boolean;
  /** What they are known by */
  readonly kind?: "token" | "jwt" | "share";
  /** The name of the token, or of whom a JWT is for */
  readonly name?: string;
  /** Whose sessions they see */
  readonly owner?: string;
  /** What they may do */
  readonly scopes: readonly string[];
  /** Of a link: the session it is for */
  readonly session_id?: string;
  /** Sessions that links let this browser read */
  readonly shared_session_ids: readonly string[];
  /** When it ends, in milliseconds since 1970; absent: never */
  readonly expires_at?: number;
}

/** What somebody is to be known by (HTTP). */
export interface SignIn {
  /** A token, a JWT, or the secret of a link */
  readonly credential: string;
}

/** What a ticket is for (HTTP). */
export interface CreateTicket {
  /** Only this session; any when absent */
  readonly session_id?: string;
}

/** What lets somebody in once, where no header can be sent (HTTP). */
export interface Ticket {
  /** For `?ticket=` of one request */
  readonly ticket: string;
  /** When it ends, in milliseconds since 1970 */
  readonly expires_at: number;
}

/** How long a link is good (HTTP). */
export interface CreateShare {
  /** For so long from now, in milliseconds; until it is taken back when absent */
  readonly expires_in_ms?: number;
}

/** A link that lets anybody who has it read a session (HTTP). */
export interface NewShare {
  /** Id of the link; it opens nothing */
  readonly share_id: string;
  /** When it was made, in milliseconds since 1970 */
  readonly created_at: number;
  /** When it ends, in milliseconds since 1970; absent: never */
  readonly expires_at?: number;
  /** What is to be kept secret; never told again */
  readonly secret: string;
  /** The address to hand on */
  readonly url: string;
}

/** The links to a session (HTTP). */
export interface Shares {
  /** Those that are good, the newest first */
  readonly shares: readonly { readonly share_id: string; readonly created_at: number; readonly expires_at?: number }[];
}

/** The server lives (HTTP). */
export interface Health {
  /** Always `ok` */
  readonly status: "ok";
}

/** Whether the server takes work (HTTP). */
export interface Readiness {
  /** Whether it does */
  readonly status: "ready" | "not_ready";
  /** Why not; empty where it does */
  readonly reasons: readonly string[];
}

/** What runs here (HTTP). */
export interface Version {
  /** Name of the package */
  readonly name: string;
  /** Version of the package */
  readonly version: string;
  /** Dialects that are spoken */
  readonly dialects: readonly string[];
}

/** From the name to its interface. */
export interface ApiShapeMap {
  readonly Nothing: Nothing;
  readonly Problem: Problem;
  readonly Session: Session;
  readonly SessionDetails: SessionDetails;
  readonly SessionList: SessionList;
  readonly ListSessions: ListSessions;
  readonly CreateSession: CreateSession;
  readonly RenameSession: RenameSession;
  readonly ForkSession: ForkSession;
  readonly ForkedSession: ForkedSession;
  readonly ListPage: ListPage;
  readonly Checkpoints: Checkpoints;
  readonly Checkpoint: Checkpoint;
  readonly Runs: Runs;
  readonly Run: Run;
  readonly StartRun: StartRun;
  readonly StartedRun: StartedRun;
  readonly StreamView: StreamView;
  readonly ReadEvents: ReadEvents;
  readonly ControlCommand: ControlCommand;
  readonly CommandDone: CommandDone;
  readonly CancelRun: CancelRun;
  readonly AnswerApproval: AnswerApproval;
  readonly Approvals: Approvals;
  readonly ChangeTodo: ChangeTodo;
  readonly Agents: Agents;
  readonly Models: Models;
  readonly Chat: Chat;
  readonly ChatPlace: ChatPlace;
  readonly IngestQuery: IngestQuery;
  readonly IngestAnswer: IngestAnswer;
  readonly Blob: Blob;
  readonly Blobs: Blobs;
  readonly PutBlob: PutBlob;
  readonly GetImage: GetImage;
  readonly KnowledgeDocuments: KnowledgeDocuments;
  readonly ListKnowledge: ListKnowledge;
  readonly AddedDocument: AddedDocument;
  readonly AddDocument: AddDocument;
  readonly SearchKnowledge: SearchKnowledge;
  readonly KnowledgeHits: KnowledgeHits;
  readonly Auth: Auth;
  readonly SignIn: SignIn;
  readonly CreateTicket: CreateTicket;
  readonly Ticket: Ticket;
  readonly CreateShare: CreateShare;
  readonly NewShare: NewShare;
  readonly Shares: Shares;
  readonly Health: Health;
  readonly Readiness: Readiness;
  readonly Version: Version;
}

export type ApiShapeName = keyof ApiShapeMap;

export const API_FORMS: { readonly [N in ApiShapeName]: Form } = {
  Nothing: parseForm("HTTP#"),
  Problem: parseForm("HTTP#type:s title:s status:i0 detail:s code:s id:s details?m"),
  Session: parseForm("HTTP#session_id:s title?s created_at:i0 updated_at:i0 first_event_id:i0 last_event_id:i0 bytes:i0 cursor:s"),
  SessionDetails: parseForm("HTTP#session_id:s title?s created_at:i0 updated_at:i0 first_event_id:i0 last_event_id:i0 bytes:i0 cursor:s runs:[{run_id:s status:=live|completed|error|cancelled first_event_id:i0 last_event_id?i0 started_at:i0 ended_at?i0 code?s request_id?s agent?s} is_busy:b queued:[{command_id:s run_id:s message:s agent?s attachments?[j created_at:i0}"),
  SessionList: parseForm("HTTP#sessions:[{session_id:s title?s created_at:i0 updated_at:i0 first_event_id:i0 last_event_id:i0 bytes:i0 cursor:s match?{where:=title|message|answer snippet:s run_id?s}} next?s"),
  ListSessions: parseForm("HTTP#limit?i0 after?s q?s"),
  CreateSession: parseForm("HTTP#session_id?s title?s"),
  RenameSession: parseForm("HTTP#title:s"),
  ForkSession: parseForm("HTTP#checkpoint_id?s after_event?i0 before_run?s session_id?s title?s state?m"),
  ForkedSession: parseForm("HTTP#session_id:s title?s created_at:i0 updated_at:i0 first_event_id:i0 last_event_id:i0 bytes:i0 cursor:s checkpoint_id?s"),
  ListPage: parseForm("HTTP#limit?i0 after?s"),
  Checkpoints: parseForm("HTTP#checkpoints:[{checkpoint_id:s step:i0 checkpoint_ns:s run_id?s event_id:i0 timestamp:s next?[j} next?s"),
  Checkpoint: parseForm("HTTP#checkpoint_id:s step:i0 checkpoint_ns:s run_id?s event_id:i0 timestamp:s next?[j state:j"),
  Runs: parseForm("HTTP#runs:[{run_id:s status:=live|completed|error|cancelled first_event_id:i0 last_event_id?i0 started_at:i0 ended_at?i0 code?s request_id?s agent?s} next?s"),
  Run: parseForm("HTTP#run_id:s status:=live|completed|error|cancelled first_event_id:i0 last_event_id?i0 started_at:i0 ended_at?i0 code?s request_id?s agent?s"),
  StartRun: parseForm("HTTP#message:s agent?s run_id?s request_id?s context?m attachments?[{blob_id:s name?s} when_busy?=enqueue|reject|interrupt"),
  StartedRun: parseForm("HTTP#session_id:s run_id:s command_id:s status:=queued|live|completed|error|cancelled cursor:s events:s"),
  StreamView: parseForm("HTTP#dialect?s modes?[s"),
  ReadEvents: parseForm("HTTP#dialect?s modes?[s after?s skip?i0 of?s follow?b limit?i0 run?s"),
  ControlCommand: parseForm("HTTP#type:=run|cancel|approve|todo id:s session:s"),
  CommandDone: parseForm("HTTP#type:s id:s result?m pending?b"),
  CancelRun: parseForm("HTTP#reason?s"),
  AnswerApproval: parseForm("HTTP#decision:=approved|rejected arguments?m digest?s reason?s run_id?s"),
  Approvals: parseForm("HTTP#approvals:[{call_id:s run_id:s name:s arguments:m event_id:i0 expires_at?n digest?s}"),
  ChangeTodo: parseForm("HTTP#completed?b text?s"),
  Agents: parseForm("HTTP#agents:[{name:s kind:s is_adaptive?b description?s model?s tools:[s is_default:b}"),
  Models: parseForm("HTTP#providers:[{name:s model?s needs_key:b key_variable?s has_key:b is_offline:b in_use:b} models:[s"),
  Chat: parseForm("HTTP#session_id?s content?s agent?s"),
  ChatPlace: parseForm("HTTP#session_id:s run?s"),
  IngestQuery: parseForm("HTTP#dialect?=auto|loom|export|engine|lumine|stream-event framing?=auto|ndjson|sse when_taken?=rename|refuse"),
  IngestAnswer: parseForm("HTTP#session_id:s dialect:s frames:i0 runs:[{run_id:s status:=live|completed|error|cancelled code?s first_event_id:i0 last_event_id:i0} warnings:[{line:i0 rule:s message:s} warning_count:i0"),
  Blob: parseForm("HTTP#blob_id:s url:s media_type:s name?s bytes:i0 created_at:i0"),
  Blobs: parseForm("HTTP#blobs:[{blob_id:s url:s media_type:s name?s bytes:i0 created_at:i0}"),
  PutBlob: parseForm("HTTP#name?s"),
  GetImage: parseForm("HTTP#url:s"),
  KnowledgeDocuments: parseForm("HTTP#documents:[{document_id:s name:s title:s collection:s format:=markdown|text|html|pdf bytes:i0 passages:i0 indexed_at:i0} next?s totals:{documents:i0 passages:i0 bytes:i0} collections:[{name:s documents:i0} accepts:[s max_document_bytes:i0"),
  ListKnowledge: parseForm("HTTP#limit?i0 after?s collection?s"),
  AddedDocument: parseForm("HTTP#document_id:s name:s title:s collection:s format:=markdown|text|html|pdf bytes:i0 passages:i0 indexed_at:i0 outcome:=added|updated|unchanged"),
  AddDocument: parseForm("HTTP#name:s collection?s"),
  SearchKnowledge: parseForm("HTTP#q:s limit?i0 collection?s"),
  KnowledgeHits: parseForm("HTTP#hits:[{document_id:s name:s title:s collection:s score:n snippet:s content:s first_line:i0 last_line:i0 headings:[s}"),
  Auth: parseForm("HTTP#mode:=open|required signed_in:b kind?=token|jwt|share name?s owner?s scopes:[s session_id?s shared_session_ids:[s expires_at?i0"),
  SignIn: parseForm("HTTP#credential:s"),
  CreateTicket: parseForm("HTTP#session_id?s"),
  Ticket: parseForm("HTTP#ticket:s expires_at:i0"),
  CreateShare: parseForm("HTTP#expires_in_ms?i1000,315360000000"),
  NewShare: parseForm("HTTP#share_id:s created_at:i0 expires_at?i0 secret:s url:s"),
  Shares: parseForm("HTTP#shares:[{share_id:s created_at:i0 expires_at?i0}"),
  Health: parseForm("HTTP#status:=ok"),
  Readiness: parseForm("HTTP#status:=ready|not_ready reasons:[s"),
  Version: parseForm("HTTP#name:s version:s dialects:[s"),
};
