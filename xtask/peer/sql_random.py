"""Random questions to random arrays, answered by tdb, by DuckDB and by a model.

    python3 sql_random.py --tdb COMMAND --library LIBTILEDB.so --out DIR [--seed S] [--arrays N] [--questions N] [--seconds N]
        [--only ARRAY[:QUESTION]] [--keep]
    python3 sql_random.py --prepare

libtiledb writes the arrays (sql_arrays.py); sql_questions.py draws what is asked and says what is right. Where DuckDB answers something
else over the same cells, a rule has to say why; rules are counted. DuckDB is in the environment of sql_peer.py, which --prepare makes.
"""

import argparse
import collections
import os
import re
import shutil
import sys
import time

import capi
import sql_arrays
import sql_ask
import sql_peer
import sql_questions
from cases import Rng
from sql_ask import Duck, Lost, Tdb, is_same, of_tdb
from sql_terms import column, key

SHOWN = 40


class Counts:
    def __init__(self):
        self.arrays = self.questions = self.changes = self.rows = 0
        self.kinds, self.rules, self.refused = collections.Counter(), collections.Counter(), collections.Counter()
        self.faults, self.unexplained = [], []


def bucket(value, family):
    """What equal values have in common; what is known up to rounding has nothing."""
    if hasattr(value, "fits"):
        return None
    if family == "bytes" and isinstance(value, bytes):
        return sql_ask.shown_bytes(value)
    return key(value)


def differs(expected, found, families, ordered):
    """What is wrong with rows, or None."""
    if len(expected) != len(found):
        return "%d rows instead of %d" % (len(found), len(expected))
    alike = lambda a, b: all(is_same(x, y, f) for x, y, f in zip(a, b, families))
    if ordered:
        wrong = next((i for i, (a, b) in enumerate(zip(expected, found)) if not alike(a, b)), None)
        return None if wrong is None else "row %d is %r instead of %r" % (wrong, found[wrong], expected[wrong])
    exact = [i for i in range(len(families)) if not any(hasattr(row[i], "fits") for row in expected)]
    of = lambda row: tuple(bucket(row[i], families[i]) for i in exact)
    left = collections.defaultdict(list)
    for row in found:
        left[of(row)].append(row)
    for row in expected:
        candidates = left.get(of(row), [])
        at = next((i for i, other in enumerate(candidates) if alike(row, other)), None)
        if at is None:
            return "no row %r, but %r" % (row, [r for rows in left.values() for r in rows][:4])
        candidates.pop(at)
    return None


# what tdb refuses by name, where DuckDB answers: the rule, and the message
REFUSALS = [("text is not compared with bytes of fixed size",
             re.compile("(types to compare|type for comparison operation|coerce types).*FixedSizeBinary.*Utf8|"
                        "(types to compare|type for comparison operation|coerce types).*Utf8.*FixedSizeBinary")),
            ("a column and its cast in one GROUP BY", re.compile("Projections require unique expression names|"
                                                              "Schema contains duplicate unqualified field name")),
            ("windows in an order of bytes or durations", re.compile(r"Cannot run range queries on datatype: (\w*Binary|Duration)"))]
OVERFLOWS = re.compile("overflow|out of range|too large|does not fit|beyond", re.I)
ZERO = re.compile("divide by zero|division by zero|DivideByZero", re.I)


class Run:
    def __init__(self, args):
        self.args, self.counts = args, Counts()
        self.lib = capi.Lib(args.library)
        self.tdb, self.duck = Tdb(args.tdb, args.out), Duck()

    def fault(self, where, what, statement, table, into=None):
        into = self.counts.faults if into is None else into
        into.append(where)
        if len(into) <= self.args.shown:
            schema = ", ".join("%s %s%s%s%s" % (c.name, c.kind.name, "" if c.kind.count == 1 else "[%s]" % c.kind.count,
                                                " enumeration" if c.kind.values else "", " null" if c.nullable else "") for c in table.columns)
            kind = "dense" if table.dense else "sparse, duplicates" if table.dups else "sparse"
            print("-- %s: %s\n   %s\n   %s: %s%s" % (where, what[:600], statement[:1200], kind, schema, "; ".join([""] + table.about)), flush=True)

    # -- one question ------------------------------------------------------------------------------------------------

    def answer(self, statement, table, where):
        """What tdb says: rows as lists of JSON, or what is wrong."""
        try:
            return self.tdb.ask(statement.replace("{T}", "'%s'" % table.path))
        except Lost as lost:
            self.fault(where, "the command: %s" % lost, statement, table)
            return None, None

    @staticmethod
    def is_without_null(question, found, again):
        """Whether rows are right if a division by zero is not null: `again` makes the question once more."""
        sql_questions.DOUBT.quotient = 1
        try:
            other = again()
        finally:
            sql_questions.DOUBT.quotient = None
        return other.tdb == question.tdb and differs(other.rows, found, other.families, other.ordered) is None

    def read(self, question, table, where, again):
        """Asks a question that reads."""
        counts = self.counts
        counts.questions += 1
        counts.kinds[question.what] += 1
        counts.rows += len(question.rows)
        rows, wrong = self.answer(question.tdb, table, where)
        if rows is None and wrong is None:
            return
        if wrong is not None:
            if question.overflow and OVERFLOWS.search(wrong):
                counts.rules["integers that overflow are an error"] += 1
            elif question.zero and ZERO.search(wrong):
                counts.rules["integers divided by zero are an error"] += 1
            elif any(pattern.search(wrong) for _, pattern in REFUSALS):
                counts.rules.update(rule for rule, pattern in REFUSALS if pattern.search(wrong))
            else:
                self.fault(where, "tdb: " + wrong, question.tdb, table)
            return
        if question.must_fail:
            self.fault(where, "an overflow is no error: %r" % rows[:3], question.tdb, table)
            return
        found = [tuple(of_tdb(row.get("c%d" % i), f) for i, f in enumerate(question.families)) for row in rows]
        wrong = differs(question.rows, found, question.families, question.ordered)
        if wrong and question.signed and differs(question.signed, found, question.families, question.ordered) is None:
            counts.rules["ORDER BY and PARTITION BY tell -0 from 0"] += 1
        elif wrong and question.zero and self.is_without_null(question, found, again):
            counts.rules["a value that cannot be null is not computed to see whether it is"] += 1
        elif wrong and question.nan:
            counts.rules["NaN that arithmetic makes may have a sign"] += 1
        elif wrong:
            self.fault(where, "tdb: " + wrong, question.tdb, table)
        self.check(question, table, where)

    def check(self, question, table, where):
        """Compares the model with DuckDB."""
        if " // " in question.duck:
            self.counts.rules["/ of integers is their division in integers, DuckDB's //"] += 1
        rows, wrong = self.duck.ask(question.duck)
        if wrong is None:
            wrong = differs(question.rows, rows, question.families, question.ordered)
        if wrong is None:
            return
        rules = set(question.rules)
        if "INT128" in wrong:
            rules.add("DuckDB's integers of 128 bits overflow")
        if question.zero:
            rules.add("integers divided by zero are an error")
        if not rules:
            plain, failed = self.duck.ask_plainly(question.duck)
            if failed is None and differs(question.rows, plain, question.families, question.ordered) is None:
                rules.add("DuckDB's optimizer changes what DuckDB answers")
        for rule in sorted(rules):
            self.counts.rules[rule] += 1
        if not rules:
            self.fault(where, "the model and DuckDB: " + wrong, question.duck, table, self.counts.unexplained)

    # -- changes -----------------------------------------------------------------------------------------------------

    def change(self, change, table, where, asked):
        counts = self.counts
        if asked:
            counts.changes += 1
            counts.kinds[change.what] += 1
        rows, wrong = self.answer(change.tdb, table, where)
        if rows is None and wrong is None:
            return False
        if wrong is None and change.rows is None:
            self.fault(where, "not refused: " + change.why, change.tdb, table)
            return False
        if wrong is None:
            table.rows = change.rows
            self.duck.load(table)
        elif change.rows is None or change.may_refuse:
            counts.refused[change.what + ": " + re.sub(r"\b[abd]\d\b|'[^']*'|[0-9][^ ]*", "_", wrong)[:110]] += asked
        else:
            self.fault(where, "refused: " + wrong, change.tdb, table)
            return False
        return self.whole(change, table, where)

    def whole(self, change, table, where):
        """Whether the whole table is what it should be."""
        names = [c.name for c in table.columns]
        statement = "SELECT %s FROM {T}" % ", ".join("%s AS c%d" % (n, i) for i, n in enumerate(names))
        rows, wrong = self.answer(statement, table, where)
        if rows is None:
            if wrong is not None:
                self.fault(where, "the whole table: " + wrong, change.tdb if change else statement, table)
            return False
        families = [column(c).shape for c in table.columns]
        found = [tuple(of_tdb(row.get("c%d" % i), f) for i, f in enumerate(families)) for row in rows]
        wrong = differs([tuple(r[n] for n in names) for r in table.rows], found, families, False)
        if wrong:
            self.fault(where, "the whole table: " + wrong, change.tdb if change else statement, table)
        return wrong is None

    # -- arrays ------------------------------------------------------------------------------------------------------

    def array(self, number, only):
        seed = self.args.seed
        path = os.path.join(self.args.out, "t%d" % number)
        table = sql_arrays.Maker(Rng("sql/%d/%d" % (seed, number)), self.lib, self.args.tdb, path).make()
        self.counts.arrays += 1
        self.duck.load(table)
        # plans differ
        partitions = Rng("sql/%d/%d/plans" % (seed, number)).pick([1, 2, 4])
        self.answer("SET datafusion.execution.target_partitions = %d" % partitions, table, str(number))
        if not self.whole(None, table, str(number)):
            return
        for q in range(self.args.questions if only is None else only + 1):
            rng, where = Rng("sql/%d/%d/%d" % (seed, number, q)), "%d:%d" % (number, q)
            changes = rng.below(60 if table.dense else 10) == 0
            if only is not None and q == only:
                self.show(table)
            if changes:
                sql_questions.DOUBT.clear()
                change = (sql_questions.insert if rng.below(2) or table.dense else sql_questions.delete)(rng, table)
                if q == only:
                    print(change.tdb, "\n", change.duck)
                if not self.change(change, table, where, only is None or q == only):
                    break
            elif only is None or q == only:
                state = rng.s

                def again(rng=rng, state=state):
                    rng.s = state
                    return sql_questions.question(rng, table)

                question = again()
                if q == only:
                    print(question.tdb, "\n", question.duck, "\n", question.rows)
                self.read(question, table, where, again)
        shutil.rmtree(path) if not self.args.keep else None

    @staticmethod
    def show(table):
        for c in table.columns:
            print(c.name, c.kind.name, c.kind.count, c.kind.values, "nullable" if c.nullable else "")
        for row in table.rows:
            print(list(row.values()))

    def run(self):
        started = time.monotonic()
        only = self.args.only.split(":") if self.args.only else None
        numbers = range(self.args.arrays) if only is None else [int(only[0])]
        for number in numbers:
            if time.monotonic() - started > self.args.seconds:
                break
            self.array(number, int(only[1]) if only and len(only) > 1 else None)
        self.tdb.stop()
        self.report(time.monotonic() - started)

    def report(self, seconds):
        c = self.counts
        print("seed %d: %d arrays, %d questions that read (%d rows) and %d changes in %.0f s" % (
            self.args.seed, c.arrays, c.questions, c.rows, c.changes, seconds))
        for title, counter in (("what was asked", c.kinds), ("rules that explain a difference from DuckDB", c.rules), ("refused", c.refused)):
            print(title)
            for name, count in counter.most_common():
                print("  %6d  %s" % (count, name))
        print("%d answers of tdb are wrong, %d answers of DuckDB are not explained" % (len(c.faults), len(c.unexplained)))
        if c.faults or c.unexplained:
            sys.exit("--only repeats one: %s" % " ".join((c.faults + c.unexplained)[:SHOWN]))


def main():
    sql_peer.in_environment()
    if sys.argv[1:] == ["--prepare"]:
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--tdb", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arrays", type=int, default=200)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--only", default="")
    parser.add_argument("--shown", type=int, default=SHOWN)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    Run(args).run()


if __name__ == "__main__":
    main()
