/**
 * Arrays of TileDB read over HTTP, in browsers, workers and Node.
 *
 * Integers of 64 bits, dates and times are `bigint`s, in `BigInt64Array`s and `BigUint64Array`s.
 */

/** The names of the types of values, as libtiledb writes them: `INT32`, `DATETIME_DAY`, … */
export type Datatype =
  | 'INT8'
  | 'UINT8'
  | 'INT16'
  | 'UINT16'
  | 'INT32'
  | 'UINT32'
  | 'INT64'
  | 'UINT64'
  | 'FLOAT32'
  | 'FLOAT64'
  | 'BOOL'
  | 'BLOB'
  | 'CHAR'
  | 'ANY'
  | 'GEOM_WKB'
  | 'GEOM_WKT'
  | 'STRING_ASCII'
  | 'STRING_UTF8'
  | 'STRING_UTF16'
  | 'STRING_UTF32'
  | 'STRING_UCS2'
  | 'STRING_UCS4'
  | `DATETIME_${'YEAR' | 'MONTH' | 'WEEK' | 'DAY'}`
  | `DATETIME_${'HR' | 'MIN' | 'SEC' | 'MS' | 'US' | 'NS' | 'PS' | 'FS' | 'AS'}`
  | `TIME_${'HR' | 'MIN' | 'SEC' | 'MS' | 'US' | 'NS' | 'PS' | 'FS' | 'AS'}`;

export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** A number; a `bigint` for 64 bits, dates and times; a text for strings. */
export type Scalar = number | bigint | string;

/**
 * The value of one cell: a scalar; for cells of several values, these; bytes for `BLOB` and
 * `GEOM_WKB`; null.
 */
export type Value = Scalar | TypedArray | null;

/** Both ends, which are included. */
export type Interval = [low: Scalar, high: Scalar];

/**
 * One end of a range: a number, a `bigint`, a text, or the bytes of one. Dates may be texts, as
 * the command `tdb` writes them (`'2020-02-29'`), or `Date`s; each is all that is inside of it,
 * such as the seconds of a day or the nanoseconds of a `Date`'s millisecond.
 */
export type Coordinate = Scalar | Date | Uint8Array;

/**
 * What is read of a dimension: one coordinate, a range with both ends (null is the end of the
 * domain), a list of ranges and coordinates, or every `step`-th coordinate of a range of integers,
 * which are at most a million unless the step is 1.
 */
export type Selection =
  | Coordinate
  | SelectedRange
  | Array<SelectedRange | Coordinate>
  | { from: number | bigint; to: number | bigint; step: number | bigint };
/**
 * `[low, high]`: a list of exactly two coordinates is a range. For two single ones, write `[[1,
 * 1], [5, 5]]`.
 */
export type SelectedRange = [low: Coordinate | null, high: Coordinate | null];

/**
 * The time in which an array is opened: until a time in milliseconds since 1970 or a `Date`, or
 * from one to another (both included). Without it, the time of opening.
 */
export type At =
  number | bigint | Date | [from: number | bigint | Date, to: number | bigint | Date];

export type Order = 'row-major' | 'col-major' | 'global-order' | 'unordered';

/** A compiled module, its bytes, or where it is. */
export type ModuleSource = WebAssembly.Module | BufferSource | URL | string;

export interface OpenOptions {
  at?: At;
  /** The 32 bytes of the key of an encrypted array. */
  key?: Uint8Array;
  /**
   * Makes the requests in place of the global `fetch`. With a worker, it is called outside of it.
   */
  fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** Sent with every request. User names and passwords belong here, not into URLs. */
  headers?: HeadersInit;
  /** Cancels the opening. */
  signal?: AbortSignal;
  /** Decodes in a Web Worker, so that the page stays responsive. Default: false. */
  worker?: boolean;
  /**
   * The bucket that lists its objects as S3 does, by its URL, if the array has no manifest.
   * Buckets at `amazonaws.com` and `storage.googleapis.com` are known; false asks none.
   */
  list?: string | URL | false;
  /** The most requests at once, a whole number. Default: 8. */
  concurrency?: number;
  /**
   * The modules, if they are not beside this script: a server or a bundler may have put them
   * elsewhere.
   */
  modules?: { core?: ModuleSource; full?: ModuleSource };
}

/**
 * Opens the array or group at a URL. The folder has a manifest (`tdb publish` makes one), or its
 * bucket lists.
 * @throws TdbError, or the reason of the signal.
 */
export function open(url: string | URL, options?: OpenOptions): Promise<TdbArray | TdbGroup>;

/** As `open`, but anything else than an array is an error. */
export function openArray(url: string | URL, options?: OpenOptions): Promise<TdbArray>;

/** As `open`, but anything else than a group is an error. */
export function openGroup(url: string | URL, options?: OpenOptions): Promise<TdbGroup>;

export interface Filter {
  /** As the command writes it: `zstd`, `byteshuffle`, … */
  name: string;
  /** Its options, such as `level`. */
  [option: string]: unknown;
}

export interface Dimension {
  name: string;
  datatype: Datatype;
  /** Null for strings. */
  domain: Interval | null;
  /** Values along a tile; null where the array has none. */
  tile: Scalar | null;
  /** The part of the domain that cells may be in at present, where the schema has one. */
  currentDomain: Interval | null;
  filters: Filter[];
}

export interface Attribute {
  name: string;
  datatype: Datatype;
  /** Values in each cell; null where it varies, as in strings. */
  cellValNum: number | null;
  nullable: boolean;
  filters: Filter[];
  /** The name of the enumeration whose values its numbers stand for. */
  enumeration: string | null;
  /** What an empty cell has. */
  fill: Value;
  /** The order of its values along the dimension, in the array of a dimension label. */
  order: 'unordered' | 'increasing' | 'decreasing';
}

export interface DimensionLabel {
  name: string;
  dimension: string;
  datatype: Datatype;
}

export interface Schema {
  type: 'dense' | 'sparse';
  /** The version of the format. */
  version: number;
  dimensions: Dimension[];
  attributes: Attribute[];
  labels: DimensionLabel[];
  cellOrder: Order | 'hilbert';
  tileOrder: Order;
  /** Cells in a tile of a sparse array. */
  capacity: number;
  allowsDuplicates: boolean;
  /** The filters of the offsets of variable cells, and of validity. */
  offsetsFilters: Filter[];
  validityFilters: Filter[];
}

export interface MetadataItem {
  key: string;
  datatype: Datatype;
  /** A text, a number, a `bigint`, or a typed array of several. Null where there are no values. */
  value: Value;
}

export interface Fragment {
  name: string;
  /** Written from and until, in milliseconds since 1970. */
  timeRange: [from: number, to: number];
  dense: boolean;
  /** The version of the format. */
  version: number;
  /** Stored cells, with the fill of whole tiles. */
  cells: number;
  /** Bytes of its data files. */
  bytes: number;
  /** One interval a dimension, in their order; null where it is not known. */
  nonEmptyDomain: Interval[] | null;
}

export interface Enumeration {
  name: string;
  datatype: Datatype;
  ordered: boolean;
  /** As many values as it has: value n stands for the number n. */
  values: Value[];
}

/** Which cells a query is about. */
export interface CellSelection {
  /** By the name of a dimension or of a dimension label. */
  ranges?: Record<string, Selection>;
  /** A condition, as the command `tdb` has it: `heat > 30 and station = 'Bern'`. */
  where?: string;
  signal?: AbortSignal;
}

export interface ReadOptions extends CellSelection {
  /**
   * Attributes, dimensions and labels. Default: all attributes, and for sparse arrays all
   * dimensions.
   */
  fields?: string[];
  /** Default: row-major for dense arrays, unordered for sparse ones. */
  order?: Order;
  /**
   * The most cells: a whole number, or `Infinity`, which is the default. The rest is not fetched,
   * apart from what one request brings along.
   */
  limit?: number;
  /**
   * Has cells of dense arrays say whether they are written and satisfy the condition
   * (`Cells.selected`).
   */
  selection?: boolean;
}

export interface BatchOptions extends ReadOptions {
  /** Bytes that the cells of a batch take while it is made. Default: 8 MiB. */
  batchBytes?: number;
}

/** The cells of one field. */
export interface Column {
  readonly name: string;
  readonly datatype: Datatype;
  /** Values in each cell; null where it varies. */
  readonly cellValNum: number | null;
  /** The number of cells. */
  readonly length: number;
  /**
   * The values of all cells, back to back. The bytes of strings in ASCII and UTF-8 are a
   * `Uint8Array`.
   */
  readonly values: TypedArray;
  /**
   * Where cells begin in `values`, and where the last one ends; null where all cells have as many
   * values.
   */
  readonly offsets: Uint32Array | null;
  /** One byte a cell, of which 0 is null; null where no cell can be. */
  readonly validity: Uint8Array | null;
  /** The name of the enumeration that its numbers stand for (`TdbArray.enumeration`). */
  readonly enumeration: string | null;
  isNull(cell: number): boolean;
  /** The value of a cell; decoded when it is asked for. */
  get(cell: number): Value;
  /** As text for people: dates as `2020-02-29`, bytes in hexadecimal; null for null. */
  text(cell: number): string | null;
  toArray(): Value[];
}

export interface Cells {
  /** The number of cells. */
  readonly length: number;
  /**
   * The number of cells along each dimension, of a dense box in row- or column-major order; null
   * otherwise.
   */
  readonly shape: number[] | null;
  readonly order: Order;
  readonly columns: Column[];
  /**
   * One byte a cell, of which 0 is not selected; null unless it was asked for, and for sparse
   * arrays.
   */
  readonly selected: Uint8Array | null;
  /** What the query cost. */
  readonly stats: Stats;
  /** @throws TdbError if the result has no such field. */
  column(name: string): Column;
  /** One cell, by the names of its fields. */
  row(cell: number): Record<string, Value>;
}

export interface AggregateOptions extends CellSelection {
  /** `count`, `null_count(a)`, `sum(a)`, `min(a)`, `max(a)`, `mean(a)`, where `a` is a field. */
  aggregates: string[];
  /** Fields whose equal values make a group (sparse arrays). */
  groupBy?: string[];
  /** The most groups; more are an error. Only with `groupBy`. Default: 100 000. */
  maxGroups?: number;
}

export interface Stats {
  /** Requests made, with those that were repeated. */
  requests: number;
  /** Bytes of their answers. */
  bytes: number;
  /** Waits for the network, one after another. */
  rounds: number;
  /** From the beginning to the end. */
  milliseconds: number;
}

export class TdbArray {
  readonly kind: 'array';
  /** Without a signature that it may have. */
  readonly url: string;
  readonly schema: Schema;
  /** In milliseconds since 1970; both included. */
  readonly timeRange: [from: number, to: number];
  /** The same array at another time, without another listing. */
  at(at: At, options?: { signal?: AbortSignal }): Promise<TdbArray>;
  metadata(options?: { signal?: AbortSignal }): Promise<MetadataItem[]>;
  /** The visible fragments, oldest first. */
  fragments(options?: { signal?: AbortSignal }): Promise<Fragment[]>;
  /** One interval a dimension; null if the array is empty. */
  nonEmptyDomain(options?: { signal?: AbortSignal }): Promise<Interval[] | null>;
  /** @throws TdbError if the schema has none of this name. */
  enumeration(name: string, options?: { signal?: AbortSignal }): Promise<Enumeration>;
  read(options?: ReadOptions): Promise<Cells>;
  /** The cells of `read`, in the same order, in pieces. Leaving the loop ends the query. */
  batches(options?: BatchOptions): AsyncIterable<Cells>;
  /** By the texts that asked for them. */
  aggregate(options: AggregateOptions & { groupBy?: undefined }): Promise<Record<string, Value>>;
  /** One cell a group: a column of each key, and one of each aggregate, named by its text. */
  aggregate(options: AggregateOptions & { groupBy: string[] }): Promise<Cells>;
  /** The cells of `read` as a stream of Arrow IPC, which apache-arrow, DuckDB and Polars read. */
  arrow(options?: Omit<BatchOptions, 'selection'>): Promise<Uint8Array>;
  /** The array as Zarr, at its time: a group with an array for each field. */
  zarr(options?: ZarrOptions): ZarrStore;
  /** What was requested since the array was opened, with its opening. */
  stats(): Stats;
  /** Frees its memory, and ends its queries. */
  close(): void;
}

export interface GroupMember {
  /** Null if the group gives it none. */
  name: string | null;
  type: 'array' | 'group' | 'unknown';
  /** Where it is; relative ones are below the group. */
  url: string;
}

export class TdbGroup {
  readonly kind: 'group';
  readonly url: string;
  members(): GroupMember[];
  /** Opens a member, by its name or URL, with the options of the group. */
  open(member: string | GroupMember, options?: OpenOptions): Promise<TdbArray | TdbGroup>;
  metadata(options?: { signal?: AbortSignal }): Promise<MetadataItem[]>;
  /**
   * The group as Zarr, with its members below their names. A member is opened when something of it
   * is asked for first, with the options of the group; `close` closes these, too.
   */
  zarr(options?: ZarrOptions): ZarrStore;
  stats(): Stats;
  close(): void;
}

export interface ZarrOptions {
  /** The version of Zarr whose documents there are. Default: both. */
  version?: 2 | 3;
  /** The most cells in a chunk of a sparse array, a whole number. Default: 262,144. */
  rows?: number;
}

/** Something that Zarr cannot show. */
export interface ZarrRefusal {
  /** The path that it would have; empty for the root. */
  path: string;
  reason: string;
}

/** A store, as zarrita and what is built on it takes one. */
export interface ZarrStore {
  /**
   * A document or a chunk, by its key; undefined if there is none. Chunks in which nothing was
   * written have none.
   */
  get(key: `/${string}`, options?: { signal?: AbortSignal }): Promise<Uint8Array | undefined>;
  /** A part of it. The whole chunk is read for that. */
  getRange(
    key: `/${string}`,
    range: { offset: number; length: number } | { suffixLength: number },
    options?: { signal?: AbortSignal },
  ): Promise<Uint8Array | undefined>;
  /** What is not shown, with the reasons. Of a group, this opens all members. */
  refused(options?: { signal?: AbortSignal }): Promise<ZarrRefusal[]>;
  /** What was requested; of a group, also for its members. */
  stats(): Stats;
}

/**
 * `not-found`: no array or group is there. `listing`: the folder has no manifest, and its bucket
 * does not list. `network`: a request failed. `outdated`: files changed since the manifest was
 * written. `corrupt`: bytes of a file are wrong. `unsupported`: this build cannot read something
 * of the array. `query`: the query does not fit the array. `closed`: the array was closed.
 * `internal`: a fault of tdb.
 */
export type ErrorKind =
  | 'not-found'
  | 'listing'
  | 'network'
  | 'outdated'
  | 'corrupt'
  | 'unsupported'
  | 'query'
  | 'closed'
  | 'internal';

export class TdbError extends Error {
  readonly name: 'TdbError';
  readonly kind: ErrorKind;
  /** The URL or key of the file, if the error is about one. */
  readonly file: string | null;
  /** The offset in the file of the bytes that are wrong. */
  readonly offset: number | null;
  /** The status of a request that failed. */
  readonly status: number | null;
}
