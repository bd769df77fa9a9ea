-- Runs once, in the new database.
CREATE EXTENSION batmap;
