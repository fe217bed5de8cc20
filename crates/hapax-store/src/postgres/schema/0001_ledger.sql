-- The ledger in Postgres. Every primary key begins with (tenant, stream, partition): what a turn touches lies together, streams
-- spread over nodes, and one stream can be split later without changing what a row means. The partition is 0 for now, and the
-- stream is '' for what belongs to a tenant as a whole.
--
-- Texts compare byte by byte (C). Times are nanoseconds since 1970. Documents are the bytes that came. Numbers of producers may
-- use all 64 bits, so they are numeric; our own counts (offsets, ordinals, attempts) never come near 2^63.
-- `record` and `details` are what only Hapax reads, in the shapes of its codec.

CREATE TABLE tenants (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL DEFAULT '',
  partition int2 NOT NULL DEFAULT 0,
  salt      bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition)
);

-- A stream and its head. Its row is the lock of the stream: whoever writes anything of the stream holds it.
CREATE TABLE streams (
  tenant      text COLLATE "C" NOT NULL,
  stream      text COLLATE "C" NOT NULL,
  partition   int2 NOT NULL DEFAULT 0,
  version     int4 NOT NULL,            -- the contract in force
  head_offset int8 NOT NULL,
  head_hash   bytea NOT NULL,
  head_at     int8,
  events      int8 NOT NULL,
  attempts    int8 NOT NULL,
  lanes       int8 NOT NULL,            -- how many there are
  gaps_open   int8 NOT NULL,            -- of all lanes
  PRIMARY KEY (tenant, stream, partition)
) WITH (fillfactor = 50);

CREATE TABLE contracts (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  version   int4 NOT NULL,
  baseline  int4 NOT NULL,
  contract  text NOT NULL,              -- as JSON
  put_at    int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, version)
);

-- The ledger: entries that were accepted together share a row, as long as that stays on one page. A row for each would cost as
-- much again, most of it in the index.
CREATE TABLE blocks (
  last      int8 NOT NULL,              -- the offset of its last entry
  first     int8 NOT NULL,              -- and of its first: it has all between them
  attempt   int8 NOT NULL,              -- the number of its last entry among all attempts
  partition int2 NOT NULL DEFAULT 0,
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  ids       text[] COLLATE "C" NOT NULL,
  lanes     text[] COLLATE "C" NOT NULL,
  documents bytea[] NOT NULL,           -- as they came
  records   bytea[] NOT NULL,
  PRIMARY KEY (tenant, stream, partition, last)
) WITH (toast_tuple_target = 8160);

-- What an entry is found by: 64 bits of its identity and its stream, and where it stands. It is an index that is kept as a table, so
-- it has no key of its own: whoever finds a row looks into the block whether it is the right one. An id that was forgotten may be
-- used again, and then the newest entry counts; the stream's lock keeps it single.
CREATE TABLE lookups (
  lookup    int8 NOT NULL,
  "offset"  int8 NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL
);
CREATE INDEX lookups_lookup ON lookups (lookup);

-- For people: one row for each entry.
CREATE VIEW entries AS
  SELECT b.tenant, b.stream, b.partition, b.first + e.place - 1 AS "offset", e.id, e.lane, e.document
  FROM blocks b, unnest(b.ids, b.lanes, b.documents) WITH ORDINALITY AS e(id, lane, document, place);

-- What was submitted and did not become an entry. Kept as long as the contract's audit.keep.
CREATE TABLE attempts (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  number    int8 NOT NULL,
  at        int8 NOT NULL,
  contract  int4 NOT NULL,
  id        text COLLATE "C",
  lane      text COLLATE "C",
  epoch     numeric(20) NOT NULL,
  seq       numeric(20),
  verdict   text COLLATE "C" NOT NULL,
  code      text COLLATE "C" NOT NULL,
  states    int8 NOT NULL,
  rejected  bool NOT NULL,
  same_as   int8,                       -- the entry with the very same document
  document  bytea,                      -- otherwise: the document as it came
  details   bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, number)
);
CREATE INDEX attempts_id ON attempts (id) WHERE id IS NOT NULL;

CREATE TABLE lanes (
  tenant       text COLLATE "C" NOT NULL,
  stream       text COLLATE "C" NOT NULL,
  partition    int2 NOT NULL DEFAULT 0,
  lane         text COLLATE "C" NOT NULL,
  baseline     int4 NOT NULL,
  generation   int4 NOT NULL,
  epoch        numeric(20) NOT NULL,
  highest      numeric(20),
  floor        numeric(20),
  last_time    int8,
  last_arrival int8,
  last_offset  int8 NOT NULL,
  events       int8 NOT NULL,
  out_of_order bool NOT NULL,
  open         int8 NOT NULL,           -- rows of `gaps`, by kind
  acknowledged int8 NOT NULL,
  abandoned    int8 NOT NULL,
  unlisted     int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, lane)
) WITH (fillfactor = 70);

CREATE TABLE gaps (
  tenant     text COLLATE "C" NOT NULL,
  stream     text COLLATE "C" NOT NULL,
  partition  int2 NOT NULL DEFAULT 0,
  lane       text COLLATE "C" NOT NULL,
  generation int4 NOT NULL,
  first      numeric(20) NOT NULL,
  last       numeric(20) NOT NULL,
  kind       int2 NOT NULL,             -- 0 open, 1 acknowledged, 2 abandoned, 3 unlisted
  opened_at  int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, lane, generation, first)
);

-- Numbers that came after all. Kept as long as the contract's audit.keep.
CREATE TABLE filled (
  tenant     text COLLATE "C" NOT NULL,
  stream     text COLLATE "C" NOT NULL,
  partition  int2 NOT NULL DEFAULT 0,
  lane       text COLLATE "C" NOT NULL,
  generation int4 NOT NULL,
  first      numeric(20) NOT NULL,
  last       numeric(20) NOT NULL,
  kind       int2 NOT NULL,
  opened_at  int8 NOT NULL,
  filled_at  int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, lane, generation, first)
);
CREATE INDEX filled_at ON filled (tenant, stream, partition, filled_at);

-- Losses that people recorded.
CREATE TABLE losses (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  turn      uuid NOT NULL,
  place     int4 NOT NULL,              -- among the losses of the turn
  lane      text COLLATE "C" NOT NULL,
  first     numeric(20) NOT NULL,
  last      numeric(20) NOT NULL,
  reason    bytea NOT NULL,             -- UTF-8
  at        int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, turn, place)
);

CREATE TABLE nonces (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  nonce     bytea NOT NULL,
  used_at   int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, nonce)
);
CREATE INDEX nonces_used_at ON nonces (tenant, stream, partition, used_at);

CREATE TABLE counters (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  name      text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  kind      int2 NOT NULL,              -- 0 hour, 1 day, 2 week, 3 month, 4 none
  hour      int8 NOT NULL,              -- the period's beginning, in hours since 1970
  count     int8 NOT NULL,              -- of everything that counts
  sum       numeric NOT NULL,           -- likewise: folded, late, corrected
  watermark int8,
  closed    bool NOT NULL,
  record    bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, name, key, kind, hour)
) WITH (fillfactor = 70);

CREATE TABLE adjustments (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  name      text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  kind      int2 NOT NULL,
  hour      int8 NOT NULL,
  "offset"  int8 NOT NULL,
  record    bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, name, key, kind, hour, "offset")
);

-- Periods that are closed for every key.
CREATE TABLE closed (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  name      text COLLATE "C" NOT NULL,
  kind      int2 NOT NULL,
  hour      int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, name, kind, hour)
);

-- A handler and what counts for all of it. Its row is the lock of its claims.
CREATE TABLE handlers (
  tenant     text COLLATE "C" NOT NULL,
  stream     text COLLATE "C" NOT NULL DEFAULT '',
  partition  int2 NOT NULL DEFAULT 0,
  handler    text COLLATE "C" NOT NULL,
  reads      text COLLATE "C",          -- the stream that it reads; none for a bare registry
  record     bytea NOT NULL,            -- as declared
  next_fence int8 NOT NULL,
  dead       int8 NOT NULL,
  held       int8 NOT NULL,
  passed     bytea NOT NULL,            -- the ordinals that need nothing more, as ranges
  PRIMARY KEY (tenant, stream, partition, handler)
) WITH (fillfactor = 50);

-- Lanes and claims lie with the stream that their handler reads; the stream is '' for a bare registry.
CREATE TABLE handler_lanes (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  handler   text COLLATE "C" NOT NULL,
  lane      text COLLATE "C" NOT NULL,
  record    bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, handler, lane)
) WITH (fillfactor = 70);

CREATE TABLE claims (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  handler   text COLLATE "C" NOT NULL,
  identity  bytea NOT NULL,
  state     int2 NOT NULL,              -- 0 held, 1 failed, 2 dead, 3 done, 4 skipped
  record    bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, handler, identity)
) WITH (fillfactor = 70);
CREATE INDEX claims_dead ON claims (tenant, stream, partition, handler, identity) WHERE state = 2;

-- Requests with a key of their own, and what they were answered. Kept for a day.
CREATE TABLE requests (
  tenant      text COLLATE "C" NOT NULL,
  stream      text COLLATE "C" NOT NULL,
  partition   int2 NOT NULL DEFAULT 0,
  target      text COLLATE "C" NOT NULL, -- method and path
  key         text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  status      int2 NOT NULL,
  at          int8 NOT NULL,
  body        bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, target, key)
);
CREATE INDEX requests_at ON requests (tenant, stream, partition, at);

-- What lets callers in: the hashes of their keys.
CREATE TABLE keys (
  tenant     text COLLATE "C" NOT NULL,
  stream     text COLLATE "C" NOT NULL DEFAULT '',
  partition  int2 NOT NULL DEFAULT 0,
  id         text COLLATE "C" NOT NULL,
  hash       bytea NOT NULL,
  created_at int8 NOT NULL,
  revoked_at int8,
  record     bytea NOT NULL,
  PRIMARY KEY (tenant, stream, partition, id)
);
CREATE INDEX keys_hash ON keys (hash);

-- One row for each turn, with an id that only its server knows: after a COMMIT that broke off it decides.
CREATE TABLE turns (
  tenant    text COLLATE "C" NOT NULL,
  stream    text COLLATE "C" NOT NULL,
  partition int2 NOT NULL DEFAULT 0,
  turn      uuid NOT NULL,
  at        int8 NOT NULL,
  PRIMARY KEY (tenant, stream, partition, turn)
);
CREATE INDEX turns_at ON turns (tenant, stream, partition, at);

-- A planner that has never seen a table takes the first index that fits, and statements are planned once: so it is shown what
-- these tables will be like, a few streams with many rows each, before they have any.
INSERT INTO streams SELECT '', n, 0, 1, n, '', n, n, n, 0, 0 FROM generate_series(1, 1000) n;
INSERT INTO handlers SELECT '', '', 0, n, NULL, '', 1, 0, 0, '' FROM generate_series(1, 1000) n;
INSERT INTO handler_lanes SELECT '', '', 0, '', n, '' FROM generate_series(1, 1000) n;
INSERT INTO closed SELECT '', '', 0, '', 0, n FROM generate_series(1, 1000) n;
INSERT INTO blocks SELECT n, n, n, 0, '', '', '{}', '{}', '{}', '{}' FROM generate_series(1, 1000) n;
INSERT INTO lookups SELECT n, n, 0, '', '' FROM generate_series(1, 1000) n;
INSERT INTO attempts SELECT '', '', 0, n, n, 1, n, n, 0, n, '', '', 0, false, n, NULL, '' FROM generate_series(1, 1000) n;
INSERT INTO lanes SELECT '', '', 0, n, 0, 0, 0, n, NULL, n, n, n, n, false, 0, 0, 0, 0 FROM generate_series(1, 1000) n;
INSERT INTO gaps SELECT '', '', 0, n % 10, 0, n, n, 0, n FROM generate_series(1, 1000) n;
INSERT INTO filled SELECT '', '', 0, n % 10, 0, n, n, 0, n, n FROM generate_series(1, 1000) n;
INSERT INTO nonces SELECT '', '', 0, sha256(n::text::bytea), n FROM generate_series(1, 1000) n;
INSERT INTO counters SELECT '', '', 0, '', n, 0, n, n, n, n, false, '' FROM generate_series(1, 1000) n;
INSERT INTO adjustments SELECT '', '', 0, '', n % 10, 0, n, n, '' FROM generate_series(1, 1000) n;
INSERT INTO claims SELECT '', '', 0, '', sha256(n::text::bytea), n % 5, '' FROM generate_series(1, 1000) n;
INSERT INTO requests SELECT '', '', 0, '', n, sha256(n::text::bytea), 200, n, '' FROM generate_series(1, 1000) n;
INSERT INTO turns SELECT '', '', 0, md5(n::text)::uuid, n FROM generate_series(1, 1000) n;
ANALYZE streams, handlers, handler_lanes, closed, blocks, lookups, attempts, lanes, gaps, filled, nonces, counters, adjustments, claims, requests, turns;
DELETE FROM streams;
DELETE FROM handlers;
DELETE FROM handler_lanes;
DELETE FROM closed;
DELETE FROM blocks;
DELETE FROM lookups;
DELETE FROM attempts;
DELETE FROM lanes;
DELETE FROM gaps;
DELETE FROM filled;
DELETE FROM nonces;
DELETE FROM counters;
DELETE FROM adjustments;
DELETE FROM claims;
DELETE FROM requests;
DELETE FROM turns;
