"""The tables of the home's database, as numbered changes that bring any earlier version up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

APPLICATION_ID = 0x48525448  # "HRTH": another program's database is never migrated

MIGRATIONS: tuple[str, ...] = (
    # 1: episodes, their steps, the workspace's journal, demonstrations, events
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);

    CREATE TABLE episode (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        request TEXT NOT NULL,
        request_id TEXT NOT NULL,
        now TEXT NOT NULL,
        status TEXT NOT NULL,
        began_unix_s REAL NOT NULL,
        plan_json TEXT,
        refusal_json TEXT,
        ruling_json TEXT,
        answer_json TEXT,
        disclosures_json TEXT,
        planning_ms REAL NOT NULL DEFAULT 0,
        duration_ms REAL NOT NULL DEFAULT 0,
        rounds INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX episode_open ON episode (status) WHERE status <> 'finished';

    CREATE TABLE step (
        place INTEGER PRIMARY KEY,
        tool TEXT NOT NULL DEFAULT '',
        key TEXT NOT NULL DEFAULT '',
        effect TEXT NOT NULL DEFAULT '',
        arguments_json TEXT NOT NULL DEFAULT '{}',
        started TEXT,
        finished_unix_s REAL,
        status TEXT,
        value_json TEXT,
        value_hash TEXT,
        label TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        error_kind TEXT NOT NULL DEFAULT '',
        duration_ms REAL NOT NULL DEFAULT 0,
        n_attempts INTEGER NOT NULL DEFAULT 1
    );

    CREATE TABLE large_value (hash TEXT PRIMARY KEY, json TEXT NOT NULL);

    CREATE TABLE journal (
        number INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        before_hash TEXT,
        before BLOB,
        before_mode INTEGER NOT NULL,
        before_modified_ns INTEGER NOT NULL,
        after_hash TEXT,
        n_made_folders INTEGER NOT NULL,
        at_unix_s REAL NOT NULL,
        state TEXT NOT NULL
    );
    CREATE INDEX journal_key ON journal (key);

    CREATE TABLE demonstration (
        id TEXT PRIMARY KEY,
        request TEXT NOT NULL,
        plan_json TEXT NOT NULL,
        source TEXT NOT NULL,
        now TEXT,
        vector BLOB,
        added TEXT NOT NULL
    );

    CREATE TABLE event (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        at_unix_s REAL NOT NULL,
        label TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX event_time ON event (at_unix_s);
    CREATE VIRTUAL TABLE event_words USING fts5 (
        text, content='event', content_rowid='number', tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER event_added AFTER INSERT ON event BEGIN
        INSERT INTO event_words (rowid, text) VALUES (new.number, new.text);
    END;
    CREATE TRIGGER event_removed AFTER DELETE ON event BEGIN
        INSERT INTO event_words (event_words, rowid, text) VALUES ('delete', old.number, old.text);
    END;
    """,
    # 2: what left the device, byte for byte
    """
    CREATE TABLE disclosure (
        number INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        host TEXT NOT NULL,
        reason TEXT NOT NULL,
        payload BLOB NOT NULL,
        n_bytes INTEGER NOT NULL,
        episode TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX disclosure_episode ON disclosure (episode) WHERE episode <> '';
    """,
    # 3: which steps the owner undid, and tools' notices beside their results
    """
    ALTER TABLE step ADD COLUMN is_undone INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE step ADD COLUMN notices_json TEXT NOT NULL DEFAULT '[]';
    """,
    # 4: how often an episode was resumed without finishing
    """
    ALTER TABLE episode ADD COLUMN n_resumed INTEGER NOT NULL DEFAULT 0;
    """,
    # 5: metadata of demonstrations; disabled ones; versions of what was learnt; skills
    """
    ALTER TABLE demonstration ADD COLUMN tools_json TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE demonstration ADD COLUMN task_steps_json TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE demonstration ADD COLUMN label TEXT NOT NULL DEFAULT '';
    ALTER TABLE demonstration ADD COLUMN teacher TEXT NOT NULL DEFAULT '';
    ALTER TABLE demonstration ADD COLUMN candidates_json TEXT NOT NULL DEFAULT '';
    ALTER TABLE demonstration ADD COLUMN episode TEXT NOT NULL DEFAULT '';
    ALTER TABLE demonstration ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    ALTER TABLE demonstration ADD COLUMN version INTEGER;
    CREATE INDEX demonstration_request ON demonstration (request COLLATE NOCASE);
    CREATE INDEX demonstration_waiting ON demonstration (id) WHERE version IS NULL;

    CREATE TABLE set_aside (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        digest TEXT NOT NULL,
        request TEXT NOT NULL,
        plan_json TEXT NOT NULL,
        source TEXT NOT NULL,
        now TEXT,
        added TEXT NOT NULL,
        tools_json TEXT NOT NULL,
        task_steps_json TEXT NOT NULL,
        label TEXT NOT NULL,
        teacher TEXT NOT NULL,
        candidates_json TEXT NOT NULL,
        episode TEXT NOT NULL,
        why TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        UNIQUE (id, digest)
    );
    CREATE INDEX set_aside_why ON set_aside (why);

    CREATE TABLE version (
        number INTEGER PRIMARY KEY,
        parent INTEGER,
        at TEXT NOT NULL,
        reason TEXT NOT NULL,
        folder TEXT NOT NULL DEFAULT '',
        adapter TEXT NOT NULL DEFAULT '',
        record_json TEXT NOT NULL DEFAULT '{}',
        samples_json TEXT NOT NULL DEFAULT '{}',
        tasks_json TEXT NOT NULL DEFAULT '[]'
    );

    CREATE TABLE version_change (
        number INTEGER PRIMARY KEY,
        version INTEGER NOT NULL,
        id TEXT NOT NULL,
        digest TEXT NOT NULL,
        is_added INTEGER NOT NULL
    );
    CREATE INDEX version_change_version ON version_change (version);
    CREATE INDEX version_change_id ON version_change (id);

    CREATE TABLE skill (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL DEFAULT '',
        digest TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        plan_json TEXT NOT NULL,
        evidence_json TEXT NOT NULL,
        demonstrations_json TEXT NOT NULL DEFAULT '[]',
        at TEXT NOT NULL
    );
    """,
    # 6: agreement of plans with a teacher's; costs of teachers; requests examined for learning
    """
    CREATE TABLE agreement (
        number INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        episode TEXT NOT NULL DEFAULT '',
        request TEXT NOT NULL,
        planner TEXT NOT NULL,
        confidence REAL NOT NULL,
        plan_json TEXT NOT NULL,
        teacher TEXT NOT NULL,
        teacher_json TEXT NOT NULL,
        is_right INTEGER NOT NULL,
        share REAL NOT NULL,
        is_drawn INTEGER NOT NULL
    );
    CREATE INDEX agreement_planner ON agreement (planner, number);
    CREATE INDEX agreement_episode ON agreement (episode) WHERE episode <> '';

    CREATE TABLE teacher_use (
        day TEXT NOT NULL,
        teacher TEXT NOT NULL,
        n_calls INTEGER NOT NULL,
        n_tokens INTEGER NOT NULL,
        usd REAL NOT NULL,
        PRIMARY KEY (day, teacher)
    );

    CREATE TABLE looked_at (
        episode TEXT PRIMARY KEY,
        outcome TEXT NOT NULL,
        at TEXT NOT NULL
    );
    """,
    # 7: the guard: the ledger's chain, standing consents, what was quarantined as influenced by a stranger
    """
    ALTER TABLE disclosure RENAME TO disclosure_before;
    DROP INDEX disclosure_episode;
    CREATE TABLE disclosure (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL DEFAULT 'sent',
        at TEXT NOT NULL,
        day TEXT NOT NULL DEFAULT '',
        host TEXT NOT NULL,
        port INTEGER NOT NULL DEFAULT 0,
        address TEXT NOT NULL DEFAULT '',
        tls TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL,
        rule TEXT NOT NULL DEFAULT '',
        episode TEXT NOT NULL DEFAULT '',
        step INTEGER,
        n_bytes INTEGER NOT NULL,
        n_tokens INTEGER NOT NULL DEFAULT 0,
        usd REAL NOT NULL DEFAULT 0,
        content_hash TEXT NOT NULL DEFAULT '',
        hash TEXT NOT NULL DEFAULT '',
        salt BLOB,
        payload BLOB,
        stands_for_json TEXT
    );
    INSERT INTO disclosure (number, at, day, host, reason, rule, episode, n_bytes, payload)
        SELECT row_number() OVER (ORDER BY number), at, substr(at, 1, 10), host, reason, 'before the ledger', episode,
            n_bytes, payload FROM disclosure_before ORDER BY number;
    DROP TABLE disclosure_before;
    CREATE INDEX disclosure_episode ON disclosure (episode) WHERE episode <> '';
    CREATE INDEX disclosure_day ON disclosure (day, host, n_bytes, n_tokens, usd);
    ALTER TABLE step ADD COLUMN fields_json TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE step ADD COLUMN why_json TEXT NOT NULL DEFAULT '';
    ALTER TABLE episode ADD COLUMN questions_json TEXT NOT NULL DEFAULT '[]';

    CREATE TABLE consent (
        number INTEGER PRIMARY KEY,
        tool TEXT NOT NULL,
        verdict TEXT NOT NULL,
        pattern_json TEXT NOT NULL,
        at TEXT NOT NULL,
        expires TEXT NOT NULL,
        episode TEXT NOT NULL DEFAULT '',
        n_used INTEGER NOT NULL DEFAULT 0,
        is_revoked INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX consent_tool ON consent (tool) WHERE is_revoked = 0;

    CREATE TABLE record_origin (
        domain TEXT NOT NULL,
        record TEXT NOT NULL,
        sources_json TEXT NOT NULL,
        digest TEXT NOT NULL DEFAULT '',
        at TEXT NOT NULL,
        PRIMARY KEY (domain, record)
    );
    """,
    # 8: memory: person, place and conversation of events; ranking data; vectors; blobs by their hash
    """
    ALTER TABLE episode ADD COLUMN said TEXT NOT NULL DEFAULT '';

    ALTER TABLE event ADD COLUMN person TEXT NOT NULL DEFAULT '';
    ALTER TABLE event ADD COLUMN place TEXT NOT NULL DEFAULT '';
    ALTER TABLE event ADD COLUMN thread TEXT NOT NULL DEFAULT '';
    ALTER TABLE event ADD COLUMN n_terms INTEGER NOT NULL DEFAULT -1;
    ALTER TABLE event ADD COLUMN signs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE event ADD COLUMN is_embedded INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX event_waiting ON event (number) WHERE is_embedded = 0;
    CREATE TABLE event_vector (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);

    CREATE TABLE fact (
        number INTEGER PRIMARY KEY,
        subject TEXT NOT NULL,
        relation TEXT NOT NULL,
        value TEXT NOT NULL,
        is_single INTEGER NOT NULL,
        since_unix_s REAL,
        until_unix_s REAL,
        learnt_unix_s REAL NOT NULL,
        unlearnt_unix_s REAL,
        confidence REAL NOT NULL,
        status TEXT NOT NULL,
        label TEXT NOT NULL,
        reason TEXT NOT NULL,
        follows INTEGER
    );
    CREATE INDEX fact_subject ON fact (subject COLLATE NOCASE, relation);
    CREATE INDEX fact_value ON fact (value COLLATE NOCASE);
    CREATE TABLE fact_event (
        fact INTEGER NOT NULL REFERENCES fact (number) ON DELETE CASCADE,
        event TEXT NOT NULL,
        PRIMARY KEY (fact, event)
    );
    CREATE INDEX fact_event_event ON fact_event (event);

    CREATE TABLE blob (
        hash TEXT PRIMARY KEY,
        n_bytes INTEGER NOT NULL
    );
    CREATE TABLE blob_use (
        event TEXT NOT NULL,
        hash TEXT NOT NULL REFERENCES blob (hash),
        PRIMARY KEY (event, hash)
    );
    CREATE INDEX blob_use_hash ON blob_use (hash);
    CREATE TRIGGER event_let_go AFTER DELETE ON event BEGIN
        DELETE FROM event_vector WHERE number = old.number;
        DELETE FROM blob_use WHERE event = old.id;
        DELETE FROM summary WHERE event = old.id;
    END;

    CREATE TABLE summary (
        event TEXT PRIMARY KEY,
        level TEXT NOT NULL,
        n_replaced INTEGER NOT NULL,
        replaced BLOB NOT NULL
    );
    CREATE TABLE summary_line (
        event TEXT NOT NULL REFERENCES summary (event) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        at TEXT NOT NULL,
        source TEXT NOT NULL,
        person TEXT NOT NULL,
        text TEXT NOT NULL,
        vector BLOB,
        PRIMARY KEY (event, place)
    );
    CREATE INDEX summary_line_source ON summary_line (source);
    """,
    # 9: home video: enrolled people with their consent; movements the owner named; recordings and what was seen in them
    """
    CREATE TABLE person (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE COLLATE NOCASE,
        enrolled_at TEXT NOT NULL,
        consent_by TEXT NOT NULL,
        consent_at TEXT NOT NULL
    );
    CREATE TABLE person_face (
        number INTEGER PRIMARY KEY,
        person INTEGER NOT NULL REFERENCES person (number) ON DELETE CASCADE,
        photo_digest TEXT NOT NULL,
        quality REAL NOT NULL,
        vector BLOB NOT NULL,
        UNIQUE (person, photo_digest)
    );
    CREATE TABLE activity_example (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        at TEXT NOT NULL,
        features BLOB NOT NULL
    );

    CREATE TABLE camera (
        name TEXT PRIMARY KEY COLLATE NOCASE,
        room TEXT NOT NULL
    );
    CREATE TABLE recording (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        camera TEXT NOT NULL COLLATE NOCASE REFERENCES camera (name),
        path TEXT NOT NULL,
        n_bytes INTEGER NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        start TEXT NOT NULL,
        start_unix_s REAL NOT NULL,
        duration_s REAL NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        codec TEXT NOT NULL,
        start_from TEXT NOT NULL,
        fault TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX recording_start ON recording (start_unix_s);
    CREATE TABLE recording_chunk (
        recording INTEGER NOT NULL REFERENCES recording (number) ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (recording, chunk)
    );
    CREATE TABLE sighting (
        number INTEGER PRIMARY KEY,
        recording INTEGER NOT NULL REFERENCES recording (number) ON DELETE CASCADE,
        start_s REAL NOT NULL,
        end_s REAL NOT NULL,
        confidence REAL NOT NULL,
        name TEXT NOT NULL DEFAULT '',
        name_confidence REAL NOT NULL DEFAULT 0,
        named_by TEXT NOT NULL DEFAULT '',
        clothes BLOB
    );
    CREATE INDEX sighting_recording ON sighting (recording, start_s);
    CREATE INDEX sighting_name ON sighting (name COLLATE NOCASE) WHERE name <> '';
    CREATE TABLE sighting_part (
        sighting INTEGER NOT NULL REFERENCES sighting (number) ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        boxes BLOB NOT NULL,
        poses BLOB NOT NULL,
        PRIMARY KEY (sighting, chunk)
    );
    CREATE TABLE sighting_activity (
        sighting INTEGER NOT NULL REFERENCES sighting (number) ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        name TEXT NOT NULL,
        start_s REAL NOT NULL,
        end_s REAL NOT NULL,
        score REAL NOT NULL
    );
    CREATE INDEX sighting_activity_sighting ON sighting_activity (sighting, start_s);
    CREATE TABLE sighting_face (
        number INTEGER PRIMARY KEY,
        sighting INTEGER NOT NULL REFERENCES sighting (number) ON DELETE CASCADE,
        at_s REAL NOT NULL,
        quality REAL NOT NULL,
        vector BLOB NOT NULL
    );
    CREATE INDEX sighting_face_sighting ON sighting_face (sighting);
    CREATE TABLE sighting_thumbnail (
        number INTEGER PRIMARY KEY,
        sighting INTEGER NOT NULL REFERENCES sighting (number) ON DELETE CASCADE,
        at_s REAL NOT NULL,
        jpeg BLOB NOT NULL
    );
    CREATE INDEX sighting_thumbnail_sighting ON sighting_thumbnail (sighting);

    CREATE TABLE listened_chunk (
        recording INTEGER NOT NULL REFERENCES recording (number) ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (recording, chunk)
    );
    CREATE TABLE utterance (
        number INTEGER PRIMARY KEY,
        recording INTEGER NOT NULL REFERENCES recording (number) ON DELETE CASCADE,
        start_s REAL NOT NULL,
        end_s REAL NOT NULL,
        text TEXT NOT NULL,
        score REAL NOT NULL
    );
    CREATE INDEX utterance_recording ON utterance (recording, start_s);
    CREATE TABLE sound_event (
        number INTEGER PRIMARY KEY,
        recording INTEGER NOT NULL REFERENCES recording (number) ON DELETE CASCADE,
        chunk INTEGER NOT NULL,
        name TEXT NOT NULL,
        start_s REAL NOT NULL,
        end_s REAL NOT NULL,
        score REAL NOT NULL
    );
    CREATE INDEX sound_event_recording ON sound_event (recording, start_s);
    """,
    # 10: the joined cloud, messages waiting for it, what was taken from it
    """
    CREATE TABLE edge_link (
        number INTEGER PRIMARY KEY CHECK (number = 1),
        url TEXT NOT NULL,
        server TEXT NOT NULL,
        public_key TEXT NOT NULL,
        instance TEXT NOT NULL,
        machine TEXT NOT NULL,
        secret BLOB NOT NULL,
        token_mac BLOB NOT NULL,
        joined_at TEXT NOT NULL,
        heard_at TEXT NOT NULL DEFAULT '',
        fault TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE edge_taken (
        kind TEXT PRIMARY KEY,
        serial INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        manifest_json TEXT NOT NULL,
        at TEXT NOT NULL
    );
    CREATE TABLE statistics_given (
        id TEXT NOT NULL,
        digest TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (id, digest)
    );
    CREATE TABLE outbox (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        about TEXT NOT NULL DEFAULT '',
        digest TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL DEFAULT 'waiting',
        payload BLOB,
        stands_for_json TEXT NOT NULL DEFAULT '{}',
        n_failures INTEGER NOT NULL DEFAULT 0,
        reason TEXT NOT NULL DEFAULT '',
        answer BLOB,
        at TEXT NOT NULL,
        UNIQUE (kind, id)
    );
    CREATE INDEX outbox_state ON outbox (state, kind, number);
    CREATE INDEX outbox_about ON outbox (about) WHERE about <> '';
    CREATE TABLE outbox_pace (
        kind TEXT PRIMARY KEY,
        n_failures INTEGER NOT NULL,
        due_unix_s REAL NOT NULL,
        wait_s REAL NOT NULL,
        reason TEXT NOT NULL
    );
    CREATE TABLE outbox_dropped (
        kind TEXT NOT NULL,
        why TEXT NOT NULL,
        n INTEGER NOT NULL,
        last_at TEXT NOT NULL,
        PRIMARY KEY (kind, why)
    );
    CREATE TABLE cloud_answer (
        form TEXT PRIMARY KEY,
        answer BLOB NOT NULL,
        at TEXT NOT NULL
    );
    CREATE TRIGGER cloud_answer_of_episode AFTER DELETE ON episode BEGIN
        DELETE FROM cloud_answer;
    END;
    CREATE TRIGGER cloud_answer_of_demonstration AFTER DELETE ON demonstration BEGIN
        DELETE FROM cloud_answer;
    END;
    CREATE TRIGGER cloud_answer_of_event AFTER DELETE ON event BEGIN
        DELETE FROM cloud_answer;
    END;
    CREATE TRIGGER demonstration_let_go AFTER DELETE ON demonstration BEGIN
        DELETE FROM outbox WHERE about = old.id AND state <> 'delivered';
    END;
    CREATE TRIGGER episode_let_go AFTER DELETE ON episode BEGIN
        DELETE FROM outbox WHERE kind = 'question';
    END;
    """,
    # 11: passages of the owner's things, read from the owner's folder and rebuilt from it at any time
    """
    CREATE TABLE passage_file (
        path TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        fault TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE TABLE passage (
        number INTEGER PRIMARY KEY,
        path TEXT NOT NULL REFERENCES passage_file (path) ON DELETE CASCADE,
        record TEXT NOT NULL,
        kind TEXT NOT NULL,
        source TEXT NOT NULL,
        title TEXT NOT NULL,
        person TEXT NOT NULL,
        at TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX passage_path ON passage (path);
    CREATE TABLE passage_vector (
        number INTEGER PRIMARY KEY REFERENCES passage (number) ON DELETE CASCADE,
        vector BLOB NOT NULL
    );
    CREATE VIRTUAL TABLE passage_words USING fts5 (
        title, person, text, content='passage', content_rowid='number',
        tokenize='porter unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER passage_added AFTER INSERT ON passage BEGIN
        INSERT INTO passage_words (rowid, title, person, text) VALUES (new.number, new.title, new.person, new.text);
    END;
    CREATE TRIGGER passage_removed AFTER DELETE ON passage BEGIN
        INSERT INTO passage_words (passage_words, rowid, title, person, text)
            VALUES ('delete', old.number, old.title, old.person, old.text);
    END;
    CREATE TABLE passage_forgotten (
        number INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE
    );
    """,
    # 12: reminders that rang: each due time once, whatever happens to the process or the clock
    """
    CREATE TABLE ring (
        number INTEGER PRIMARY KEY,
        reminder TEXT NOT NULL,
        due TEXT NOT NULL,
        text TEXT NOT NULL,
        rings_at TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('ringing', 'snoozed', 'over')),
        is_late INTEGER NOT NULL DEFAULT 0,
        UNIQUE (reminder, due)
    );
    CREATE INDEX ring_open ON ring (state) WHERE state <> 'over';
    """,
    # 13: what the owner agreed to of requests that are not over
    """
    CREATE TABLE agreed_step (
        number INTEGER PRIMARY KEY,
        episode TEXT NOT NULL,
        step INTEGER NOT NULL,
        what_json TEXT NOT NULL,
        UNIQUE (episode, step)
    );
    CREATE TRIGGER agreed_step_over AFTER UPDATE OF status ON episode WHEN new.status = 'finished' BEGIN
        DELETE FROM agreed_step WHERE episode = new.id;
    END;
    CREATE TRIGGER agreed_step_gone AFTER DELETE ON episode BEGIN
        DELETE FROM agreed_step WHERE episode = old.id;
    END;
    """,
    # 14: phones that are let in, each by a key of which the digest is kept
    """
    CREATE TABLE phone (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        digest TEXT NOT NULL UNIQUE,
        added_at TEXT NOT NULL,
        seen_at TEXT NOT NULL,
        endpoint TEXT,
        receiver_key TEXT,
        receiver_secret TEXT
    );
    """,
    # 15: files named by their hash, which no part of Hearth ever kept
    """
    DROP TRIGGER event_let_go;
    CREATE TRIGGER event_let_go AFTER DELETE ON event BEGIN
        DELETE FROM event_vector WHERE number = old.number;
        DELETE FROM summary WHERE event = old.id;
    END;
    DROP TABLE blob_use;
    DROP TABLE blob;
    """,
    # 16: which program asked; empty: the owner
    """
    ALTER TABLE episode ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';
    """,
    # 17: events and reminders are another program's unless Hearth is known to have made them
    """
    UPDATE passage SET source = 'file' WHERE source = 'device' AND kind IN ('event', 'reminder');
    """,
    # 18: what the owner pointed at, as a JSON list of its kind, id and words; empty: nothing
    """
    ALTER TABLE episode ADD COLUMN records TEXT NOT NULL DEFAULT '';
    """,
    # 19: vectors of passages and of their windows, 2 bits a number; made again from the passages
    """
    DELETE FROM passage_vector;
    """,
    # 20: the passages take less room. Words of the first column cost two bytes less each, so the text is first; vectors
    # lie in the order in which they are made, newest passage first, so that no page is left half full; a file's
    # passages, numbered in a row, need no index. Whether a passage reads like an instruction is kept beside its vector.
    """
    DROP TRIGGER passage_added;
    DROP TRIGGER passage_removed;
    DROP TABLE passage_words;
    CREATE TABLE vector_before AS SELECT number, vector FROM passage_vector ORDER BY number;
    DROP TABLE passage_vector;
    CREATE TABLE passage_before AS SELECT * FROM passage ORDER BY number;
    DROP TABLE passage;
    CREATE TABLE file_before AS SELECT path, fingerprint, fault FROM passage_file;
    DROP TABLE passage_file;
    CREATE TABLE passage_file (
        path TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        fault TEXT NOT NULL DEFAULT '',
        first INTEGER,
        last INTEGER
    ) WITHOUT ROWID;
    INSERT INTO passage_file SELECT file_before.path, fingerprint, fault, min(number), max(number)
        FROM file_before LEFT JOIN passage_before ON passage_before.path = file_before.path
        GROUP BY file_before.path;
    CREATE TABLE passage (
        number INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        record TEXT NOT NULL,
        kind TEXT NOT NULL,
        source TEXT NOT NULL,
        title TEXT NOT NULL,
        person TEXT NOT NULL,
        at TEXT NOT NULL,
        text TEXT NOT NULL
    );
    INSERT INTO passage SELECT number, path, record, kind, source, title, person, at, text FROM passage_before
        ORDER BY number;
    CREATE INDEX passage_beside_mail ON passage (kind) WHERE kind <> 'mail';
    CREATE TABLE passage_vector (
        place INTEGER PRIMARY KEY,
        number INTEGER NOT NULL UNIQUE REFERENCES passage (number) ON DELETE CASCADE,
        verdict INTEGER,
        vector BLOB NOT NULL
    );
    INSERT INTO passage_vector (number, vector) SELECT number, vector FROM vector_before ORDER BY number;
    DROP TABLE vector_before;
    DROP TABLE passage_before;
    DROP TABLE file_before;
    CREATE VIRTUAL TABLE passage_words USING fts5 (
        text, title, person, content='passage', content_rowid='number',
        tokenize='porter unicode61 remove_diacritics 2'
    );
    INSERT INTO passage_words (passage_words) VALUES ('rebuild');
    CREATE TRIGGER passage_added AFTER INSERT ON passage BEGIN
        INSERT INTO passage_words (rowid, text, title, person) VALUES (new.number, new.text, new.title, new.person);
    END;
    CREATE TRIGGER passage_removed AFTER DELETE ON passage BEGIN
        INSERT INTO passage_words (passage_words, rowid, text, title, person)
            VALUES ('delete', old.number, old.text, old.title, old.person);
    END;
    CREATE TRIGGER passage_file_gone AFTER DELETE ON passage_file BEGIN
        DELETE FROM passage WHERE number BETWEEN old.first AND old.last AND path = old.path;
    END;
    """,
)
"""Schema changes, first to last; a file's `user_version` is the number applied. Never edit one that was released."""


def migrate(connection: sqlite3.Connection, upto: int = len(MIGRATIONS)) -> None:
    """Apply the missing migrations, each in one transaction with its `user_version`. Raises: sqlite3.Error."""
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Read under the write lock: another process may have migrated meanwhile.
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version >= upto:
                connection.execute("ROLLBACK")
                return
            if version == 0:
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            for statement in _statements(MIGRATIONS[version]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
