"""The two that answer: one `tdb sql` that stays, and DuckDB."""

import json
import math
import os
import pty
import re
import select
import subprocess
import tty

from sql_values import DAY, days_of, single, stored


class Lost(Exception):
    """The command ended, or said nothing for a long time."""


class Tdb:
    """`tdb sql` at its prompt: an error in a statement does not end it. Its input is a terminal that is none for its output."""

    def __init__(self, command, folder):
        self.command, self.folder, self.process, self.number = command, folder, None, 0

    def start(self):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        # a terminal without abilities: lines are read as they are; and no history
        environment = dict(os.environ, TERM="dumb", XDG_STATE_HOME="/dev/null", NO_COLOR="1")
        self.process = subprocess.Popen([self.command, "sql", "--format", "ndjson"], stdin=slave, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=self.folder, env=environment)
        os.close(slave)
        self.rest = b""

    def stop(self):
        if self.process:
            os.close(self.master)
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, statement, seconds=60):
        """(rows, None), or (None, what is wrong)."""
        if self.process is None:
            self.start()
        self.number += 1
        mark = b'{"mark":%d}\n' % self.number
        self.write("%s;\nSELECT %d AS mark;\n" % (statement, self.number))
        while mark not in self.rest:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                self.stop()
                raise Lost("no answer after %d seconds" % seconds)
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                said = self.rest.decode("utf-8", "replace")[-1500:]
                status = self.process.wait()
                self.stop()
                raise Lost("the command ended with status %s: %s" % (status, said))
            self.rest += more
        answer, self.rest = self.rest.split(mark, 1)
        return self.parse(answer.decode("utf-8", "replace"))

    def write(self, text):
        data = text.encode()
        while data:
            data = data[os.write(self.master, data[:2000]):]

    @staticmethod
    def parse(answer):
        rows, wrong = [], []
        for line in answer.split("\n"):
            while line.startswith("tdb> "):
                line = line[5:]
            if line.startswith("{"):
                rows.append(json.loads(line))
            elif line.strip() and not re.fullmatch(r"\d+ rows? (written|inserted|updated|deleted).*", line):
                wrong.append(line)
        if wrong:
            return None, " / ".join(wrong)
        return rows, None


# -- values of tdb -------------------------------------------------------------------------------------------------------

DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z?)?")
SPAN = re.compile(r"(-)?P(?:(-?\d+)D)?(?:T(-?\d+)?(?:\.(\d+))?S?)?")


def of_tdb(value, family):
    """A value of JSON as what it means."""
    if value is None:
        return None
    if family == "int":
        return int(value)
    if family == "real":
        return float(value)
    if family == "real32":
        # the shortest text of a real of 32 bits
        return single(float(value))
    if family == "time":
        found = DATE.fullmatch(value)
        if not found:
            return "?" + value
        year, month, day, hour, minute, second = (int(x or 0) for x in found.groups()[:6])
        nanos = int((found.group(7) or "").ljust(9, "0"))
        return days_of(year, month, day) * DAY + (hour * 3600 + minute * 60 + second) * 10 ** 9 + nanos
    if family == "span":
        found = SPAN.fullmatch(value)
        if not found:
            return "?" + value
        negative, days, seconds, digits = found.groups()
        size = abs(int(days or 0)) * DAY + abs(int(seconds or 0)) * 10 ** 9 + int((digits or "").ljust(9, "0"))
        return -size if "-" in value else size
    return value


def shown_bytes(data):
    """Bytes as `tdb` writes them."""
    return "".join("\\%s" % chr(b) if chr(b) == "\\" else chr(b) if 32 <= b < 127 else "\\x%02x" % b for b in data)


# -- DuckDB --------------------------------------------------------------------------------------------------------------


class Duck:
    def __init__(self):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'; SET threads = 1")

    def load(self, table):
        columns = ", ".join("%s %s" % (c.name, c.kind.duck) for c in table.columns)
        self.connection.execute("CREATE OR REPLACE TABLE t (%s)" % columns)
        if table.rows:
            rows = ", ".join("(%s)" % ", ".join(stored(c.kind, r[c.name]) for c in table.columns) for r in table.rows)
            self.connection.execute("INSERT INTO t VALUES %s" % rows)

    def ask_plainly(self, statement):
        """The answer without DuckDB's optimizer."""
        self.connection.execute("PRAGMA disable_optimizer")
        try:
            return self.ask(statement)
        finally:
            self.connection.execute("PRAGMA enable_optimizer")

    def ask(self, statement):
        try:
            return self.connection.execute(statement.replace("{T}", "t")).fetchall(), None
        except Exception as error:
            return None, str(error).split("\n")[0]


def is_same(expected, found, family):
    """Whether two values are one: zeros of both signs are equal."""
    if hasattr(expected, "fits"):
        return expected.fits(found) if isinstance(found, (int, float)) or found is None else False
    if expected is None or found is None:
        return expected is found
    if family == "bytes" and isinstance(found, str):
        return shown_bytes(expected) == found
    if isinstance(expected, float):
        return isinstance(found, (int, float)) and (expected == found or math.isnan(expected) and found != found)
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return expected == found
