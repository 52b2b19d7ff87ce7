-- Two copies of the extension in one process: each would open stores for itself, and one would drop
-- the other's locks. So the second copy is not loaded; a second name of the same file is.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(V, store='t.ptable');
INSERT INTO T VALUES ('p', '1', 1);
SELECT writefile('second.so', readfile('ptable.so')) > 0;
.open second.db
SELECT load_extension('./second', 'sqlite3_ptable_init');
CREATE VIRTUAL TABLE T USING ptable(V, store='t.ptable');
.shell ln -s ptable.so third.so
SELECT load_extension('./third', 'sqlite3_ptable_init');
CREATE VIRTUAL TABLE T USING ptable(V, store='t.ptable');
SELECT * FROM T;
