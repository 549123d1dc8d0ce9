CREATE FUNCTION trimtab_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'events are only ever appended'; END $$;
CREATE TABLE trimtab_events (
    tuner integer NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    key text,
    payload text NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE trimtab_format (
    version integer NOT NULL
);
CREATE TABLE trimtab_snapshots (
    tuner integer NOT NULL,
    number bigint NOT NULL,
    digest bytea NOT NULL,
    content bytea NOT NULL,
    checksum bytea NOT NULL
);
CREATE TABLE trimtab_tuners (
    id integer NOT NULL,
    name text NOT NULL
);
ALTER TABLE trimtab_tuners ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME trimtab_tuners_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO trimtab_events VALUES (1, 1, 'created', 1772600767000089, 'created', '{"spec":{"knobs":["ad load","cache"]}}', '\x0587366f68466592a2f3a6cb37c472b685e136086c52d70fd9319f5918c60b15');
INSERT INTO trimtab_events VALUES (1, 2, 'tell', 1772600768000090, 't1', '{"count":1,"losses":[0.3333333333333333,null,-0.0,5e-324,1e+300,10000000000000000000000000000000000000000]}', '\x46b3063759b90fb470aeab8352b2bde6183863afe1aa7f9b89b07106e00121f7');
INSERT INTO trimtab_events VALUES (1, 3, 'tell', 1772600769000091, 't2', '{"count":2,"losses":[0.6666666666666666,null,-0.0,1e-323,5e+299,10000000000000000000000000000000000000000]}', '\x3b4bb636b2bc6422030348e95915d83a3dc00e50afba309a1d3be68341f62294');
INSERT INTO trimtab_events VALUES (1, 4, 'tell', 1772600770000092, 't3', '{"count":3,"losses":[1.0,null,-0.0,1.5e-323,3.3333333333333335e+299,10000000000000000000000000000000000000000]}', '\xdb5766b867e61d6a5d8c95cab6fd75f5c870b90f546a9a59f4861c40534ca0c2');
INSERT INTO trimtab_events VALUES (1, 5, 'tell', 1772600771000093, 't4', '{"count":4,"losses":[1.3333333333333333,null,-0.0,2e-323,2.5e+299,10000000000000000000000000000000000000000]}', '\x3a9c8a887864c2806838a43ac04f4226ef43bb33350febc5c6b6f1ed75801b77');
INSERT INTO trimtab_events VALUES (1, 6, 'tell', 1772600772000094, 't5', '{"count":5,"losses":[1.6666666666666667,null,-0.0,2.5e-323,2e+299,10000000000000000000000000000000000000000]}', '\xbcd1f3a29a6ab66c871e7d8e5c8c448cb92ce3dc7eea537e63247c9688b64d98');
INSERT INTO trimtab_events VALUES (1, 7, 'decide', 1772600827000089, NULL, '{"state":{"ad load":0.30000000000000004,"cache":0.14285714285714285}}', '\x59ae0bec8d63115c3c486fe9af51f65fec899772ed3e02f53ed7a1fecc4bf02e');
INSERT INTO trimtab_events VALUES (2, 1, 'tell', -1, 'k é', '{"text":"\u00fc\u20ac\ud83d\ude00\u0000 \ud800 \"quoted\" ''x'' %s ?"}', '\xbb899004e6f59d71d55d86683893c7a9fb3573b59e6bc07fb021b6e4b1cefd94');
INSERT INTO trimtab_events VALUES (2, 2, 'note', 1772600767000089, NULL, '{}', '\xfdd8e8c96c5c06bd74e9cbe15279ed35cf1190cec78d755bec453a6c31f315b6');
INSERT INTO trimtab_format VALUES (2);
INSERT INTO trimtab_snapshots VALUES (1, 4, '\xdb5766b867e61d6a5d8c95cab6fd75f5c870b90f546a9a59f4861c40534ca0c2', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff', '\x2333efa9fe4228b29b3d62d1ed7c3ce1d72959547237c8f8109ae8f1a21f3a29');
INSERT INTO trimtab_snapshots VALUES (1, 6, '\xbcd1f3a29a6ab66c871e7d8e5c8c448cb92ce3dc7eea537e63247c9688b64d98', '\x0001736e617073686f74', '\x337673022d3b7e80e600738f13e69a73b7fdbcdef46ccdab68a0ba1de7a5d907');
INSERT INTO trimtab_tuners OVERRIDING SYSTEM VALUE VALUES (1, 'checkout');
INSERT INTO trimtab_tuners OVERRIDING SYSTEM VALUE VALUES (2, 'näme with ü');
SELECT pg_catalog.setval('trimtab_tuners_id_seq', 2, true);
ALTER TABLE ONLY trimtab_events
    ADD CONSTRAINT trimtab_events_pkey PRIMARY KEY (tuner, number);
ALTER TABLE ONLY trimtab_snapshots
    ADD CONSTRAINT trimtab_snapshots_pkey PRIMARY KEY (tuner, number);
ALTER TABLE ONLY trimtab_tuners
    ADD CONSTRAINT trimtab_tuners_name_key UNIQUE (name);
ALTER TABLE ONLY trimtab_tuners
    ADD CONSTRAINT trimtab_tuners_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX trimtab_keys ON trimtab_events USING btree (tuner, key) WHERE (key IS NOT NULL);
CREATE TRIGGER trimtab_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON trimtab_events FOR EACH STATEMENT EXECUTE FUNCTION trimtab_append_only();
ALTER TABLE ONLY trimtab_events
    ADD CONSTRAINT trimtab_events_tuner_fkey FOREIGN KEY (tuner) REFERENCES trimtab_tuners(id);
ALTER TABLE ONLY trimtab_snapshots
    ADD CONSTRAINT trimtab_snapshots_tuner_fkey FOREIGN KEY (tuner) REFERENCES trimtab_tuners(id);
