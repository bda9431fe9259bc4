"""Everything SQL: the only rooms that know how rows look."""
