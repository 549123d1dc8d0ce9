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
    version integer NOT NULL,
    tuners integer NOT NULL
);
CREATE TABLE trimtab_snapshots (
    tuner integer NOT NULL,
    number bigint NOT NULL,
    through bigint NOT NULL,
    digest bytea NOT NULL,
    content bytea NOT NULL,
    checksum bytea NOT NULL
);
CREATE TABLE trimtab_tuners (
    id integer NOT NULL,
    name text NOT NULL,
    events bigint NOT NULL,
    digest bytea NOT NULL,
    seal bytea NOT NULL
)
WITH (fillfactor='50');
INSERT INTO trimtab_events VALUES (1, 1, 'created', 1772600767000089, 'created', '{"spec":{"knobs":["ad load","cache"]}}', '\x0587366f68466592a2f3a6cb37c472b685e136086c52d70fd9319f5918c60b15');
INSERT INTO trimtab_events VALUES (1, 2, 'tell', 1772600768000090, 't1', '{"count":1,"losses":[0.3333333333333333,null,-0.0,5e-324,1e+300,10000000000000000000000000000000000000000]}', '\x46b3063759b90fb470aeab8352b2bde6183863afe1aa7f9b89b07106e00121f7');
INSERT INTO trimtab_events VALUES (1, 3, 'tell', 1772600769000091, 't2', '{"count":2,"losses":[0.6666666666666666,null,-0.0,1e-323,5e+299,10000000000000000000000000000000000000000]}', '\x3b4bb636b2bc6422030348e95915d83a3dc00e50afba309a1d3be68341f62294');
INSERT INTO trimtab_events VALUES (1, 4, 'tell', 1772600770000092, 't3', '{"count":3,"losses":[1.0,null,-0.0,1.5e-323,3.3333333333333335e+299,10000000000000000000000000000000000000000]}', '\xdb5766b867e61d6a5d8c95cab6fd75f5c870b90f546a9a59f4861c40534ca0c2');
INSERT INTO trimtab_events VALUES (1, 5, 'tell', 1772600771000093, 't4', '{"count":4,"losses":[1.3333333333333333,null,-0.0,2e-323,2.5e+299,10000000000000000000000000000000000000000]}', '\x3a9c8a887864c2806838a43ac04f4226ef43bb33350febc5c6b6f1ed75801b77');
INSERT INTO trimtab_events VALUES (1, 6, 'tell', 1772600772000094, 't5', '{"count":5,"losses":[1.6666666666666667,null,-0.0,2.5e-323,2e+299,10000000000000000000000000000000000000000]}', '\xbcd1f3a29a6ab66c871e7d8e5c8c448cb92ce3dc7eea537e63247c9688b64d98');
INSERT INTO trimtab_events VALUES (1, 7, 'decide', 1772600827000089, NULL, '{"state":{"ad load":0.30000000000000004,"cache":0.14285714285714285}}', '\x59ae0bec8d63115c3c486fe9af51f65fec899772ed3e02f53ed7a1fecc4bf02e');
INSERT INTO trimtab_events VALUES (2, 1, 'tell', -1, 'k é', '{"text":"\u00fc\u20ac\ud83d\ude00\u0000 \ud800 \"quoted\" ''x'' %s ?"}', '\xbb899004e6f59d71d55d86683893c7a9fb3573b59e6bc07fb021b6e4b1cefd94');
INSERT INTO trimtab_events VALUES (2, 2, 'note', 1772600767000089, NULL, '{}', '\xfdd8e8c96c5c06bd74e9cbe15279ed35cf1190cec78d755bec453a6c31f315b6');
INSERT INTO trimtab_format VALUES (3, 2);
INSERT INTO trimtab_snapshots VALUES (1, 4, 4, '\xdb5766b867e61d6a5d8c95cab6fd75f5c870b90f546a9a59f4861c40534ca0c2', '\x6f6c646572', '\xce4c0f85c3e367dd2cfd6a1cf3e73e0f4fafba9f6b3e73cce7b76dd32665cb07');
INSERT INTO trimtab_snapshots VALUES (1, 6, 6, '\xbcd1f3a29a6ab66c871e7d8e5c8c448cb92ce3dc7eea537e63247c9688b64d98', '\x0001736e617073686f74', '\x13c6d3f563381e6be5d8d7ce53d935a42230bdfbacb958abf25b488f38cad863');
INSERT INTO trimtab_tuners VALUES (1, 'checkout', 7, '\x59ae0bec8d63115c3c486fe9af51f65fec899772ed3e02f53ed7a1fecc4bf02e', '\x88fd4a8472c63f8e5358b3f4abeb5cfcfdc26bec0fa874021dcef7343476fc41');
INSERT INTO trimtab_tuners VALUES (2, 'näme with ü', 2, '\xfdd8e8c96c5c06bd74e9cbe15279ed35cf1190cec78d755bec453a6c31f315b6', '\xb56765a921e8f142050aaf178fd67edbccb3bcd74e172f3ca080bd5c3c674fe6');
ALTER TABLE ONLY trimtab_events
    ADD CONSTRAINT trimtab_events_pkey PRIMARY KEY (tuner, number);
ALTER TABLE ONLY trimtab_snapshots
    ADD CONSTRAINT trimtab_snapshots_pkey PRIMARY KEY (tuner, number);
ALTER TABLE ONLY trimtab_tuners
    ADD CONSTRAINT trimtab_tuners_name_key UNIQUE (name);
ALTER TABLE ONLY trimtab_tuners
    ADD CONSTRAINT trimtab_tuners_pkey PRIMARY KEY (id);
CREATE TRIGGER trimtab_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON trimtab_events FOR EACH STATEMENT EXECUTE FUNCTION trimtab_append_only();
ALTER TABLE ONLY trimtab_events
    ADD CONSTRAINT trimtab_events_tuner_fkey FOREIGN KEY (tuner) REFERENCES trimtab_tuners(id);
ALTER TABLE ONLY trimtab_snapshots
    ADD CONSTRAINT trimtab_snapshots_tuner_fkey FOREIGN KEY (tuner) REFERENCES trimtab_tuners(id);
