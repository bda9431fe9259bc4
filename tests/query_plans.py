"""How the database means to answer a question: each statement it asks, explained."""


class _Listening:
    """Stands for a Tx and remembers the statements that go through it."""

    def __init__(self, tx):
        self._tx = tx
        self.statements = []

    def __getattr__(self, name):
        def ask(sql, **params):
            self.statements.append((sql, params))
            return getattr(self._tx, name)(sql, **params)

        return ask


def plans_of(db, question):
    """Give the lines of the plan of every statement that the question asks."""
    with db.read() as tx:
        listening = _Listening(tx)
        answer = question(listening)
        if hasattr(answer, "__next__"):
            list(answer)
        assert listening.statements, "nothing was asked, so nothing is proven"
        return [
            [row["detail"] for row in tx.all("EXPLAIN QUERY PLAN " + sql, **params)]
            for sql, params in listening.statements
        ]
