"""Has cases written by the releases they name and read by 2.30, each step in a process of its own.

    python3 live.py --cases CASES.json --out DIR [--count N] [--fill] [--only NAME] [--rewrite] [--stored]

CASES.json is what version_cases.py writes: of its cases so many are taken that N arrays are good. --fill takes those after them,
too, that promise to fill a bin which is empty still. The arrays go to DIR/arrays/<name>, what libtiledb reads from them to
DIR/expected/<name>.json; a line of JSON a case tells how it went: {"name", "outcome", "reader", "message", "bins"}, where
the outcome is "good", "refused" (by the library that was to write it), "unreadable" or "crashed".

--rewrite has 2.30 take all steps instead, for what the cells would be had it written them. --stored reports, of arrays that
are there already, the fragments whose cells are not stored in the order 2.30 would store them in: "stored".

A library is loaded once, by a server process that makes no context; each task runs in a fork of it, so that a crash
ends nothing else.
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys

import capi
import expect
import fetch
import model
import write
from cases import READER

SECONDS = 120


# -- the server's side --------------------------------------------------------------------------------------------------


def task(path, request):
    lib = capi.Lib(path)
    case = request["case"]
    uri = os.path.join(request["arrays"], case["name"])
    if request["do"] == "write":
        write.run_case(lib, case, request["arrays"], request["by"])
        return {}
    if request["do"] == "stored":
        return {"stored": out_of_order(lib, case, uri)}
    expect.BUFFER = 1 << (23 if case["name"].endswith("_large") else 18)
    told = model.Model(case)
    told.reader = lib.version[:2]
    answer = expect.expect(lib, case, uri, own=request["own"], note=lambda *of: model.note(told, *of))
    with open(os.path.join(request["expected"], case["name"] + ".json"), "w") as handle:
        json.dump(answer, handle, separators=(",", ":"), ensure_ascii=False)
    return {}


def serve(path):
    ctypes.CDLL(os.path.abspath(path))
    for line in sys.stdin:
        request = json.loads(line)
        said, say = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 3
            try:
                os.dup2(say, 1)
                os.dup2(say, 2)
                signal.alarm(SECONDS)
                print("\n" + json.dumps(task(path, request)), flush=True)
                code = 0
            except capi.TileDBError as error:
                print(error, flush=True)
                code = 1
            except BaseException as error:
                print(repr(error), flush=True)
            finally:
                os._exit(code)
        os.close(say)
        with os.fdopen(said, "rb") as stream:
            text = stream.read().decode("utf-8", "replace").strip()
        status = os.waitpid(pid, 0)[1]
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        print(json.dumps({"code": code, "text": text}), flush=True)


def out_of_order(lib, case, uri):
    """Names of the fragments whose cells, written anew by this library, come out in another order."""
    if lib.key != case.get("key"):
        lib.set_key(case.get("key"))
    reader = expect.Reader(lib)
    wrong = []
    schema = dict(case["schema"], attributes=[{"name": "a", "type": "UINT8", "cell_val_num": 1, "nullable": False}],
                  enumerations=[], allows_dups=True)
    for number, fragment in enumerate(reader.fragments(uri)):
        if fragment["dense"] or not fragment["cell_num"]:
            continue
        start, end = fragment["timestamps"]
        array = lib.open(uri, capi.READ, end, start)
        read = reader.schema(array)
        count, fields = reader.query(array, read, "global-order", None)
        lib.close(array)
        names = [d["name"] for d in read["dimensions"]]
        found = {n: reader.cells_of(fields[n], count) for n in names}
        again = "%s.order%d" % (uri, number)
        shutil.rmtree(again, ignore_errors=True)
        lib.create(again, lib.schema(schema))
        columns = {n: {"data": expect.b64(fields[n]["data"])} for n in names}
        for n in names:
            if "offsets" in fields[n]:
                columns[n]["offsets"] = expect.b64(fields[n]["offsets"])
        columns["a"] = {"data": expect.b64(bytes(count))}
        write.write_cells(lib, again, {"schema": schema}, {"layout": "unordered", "fields": columns, "t": 1})
        array = lib.open(again, capi.READ)
        count, fields = reader.query(array, reader.schema(array), "global-order", None)
        lib.close(array)
        shutil.rmtree(again, ignore_errors=True)
        if found != {n: reader.cells_of(fields[n], count) for n in names}:
            wrong.append(os.path.basename(fragment["name"]))
    return wrong


# -- the caller's side ---------------------------------------------------------------------------------------------------


def of_one_byte(attribute):
    """Whether an attribute has a validity, and values of one byte."""
    return attribute.get("nullable") and attribute["cell_val_num"] == 1 and capi.size_of(attribute["type"]) == 1


def lacks_open_strings(version, schema):
    """Whether a release returns no cells, of whatever bytes, where a dimension of strings has no range: 2.0 and 2.1 do not."""
    return version < "2.2" and any(d["type"] == "STRING_ASCII" for d in schema["dimensions"])


class Server:
    """A library in a process of its own."""

    def __init__(self, version):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", fetch.fetch(version)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Failed(Exception):
    def __init__(self, outcome, message):
        super().__init__(message)
        self.outcome, self.message = outcome, message


class Run:
    def __init__(self, out, rewrite):
        self.arrays, self.expected = (os.path.abspath(os.path.join(out, d)) for d in ("arrays", "expected"))
        for folder in (self.arrays, self.expected):
            os.makedirs(folder, exist_ok=True)
        self.rewrite = rewrite
        self.servers = {}

    def ask(self, version, failure, **request):
        version = READER if self.rewrite else version
        if version not in self.servers:
            self.servers[version] = Server(version)
        answer = self.servers[version].ask(dict(request, arrays=self.arrays, expected=self.expected))
        if answer["code"] != 0:
            text = "libtiledb %s: %s" % (version, answer["text"][-400:])
            raise Failed(failure if answer["code"] == 1 else "crashed", "%s (code %d)" % (text, answer["code"]))
        return json.loads(answer["text"].splitlines()[-1])

    def write(self, case):
        parties = []
        for step in case["steps"]:
            if step.get("by", "writer") not in parties:
                parties.append(step.get("by", "writer"))
        for by in parties:
            if by == "writer":
                shutil.rmtree(os.path.join(self.arrays, case["name"]), ignore_errors=True)
            self.ask(case["lib"] if by == "writer" else by, "refused", do="write", case=case, by=by)

    def again_if_crashed(self, *args, **request):
        """Asks; released libraries crash now and then, and not the second time."""
        try:
            return self.ask(*args, **request)
        except Failed as failed:
            if failed.outcome != "crashed":
                raise
            return self.ask(*args, **request)

    def written(self, case):
        """Tells what was written in the place of what is read; false if the steps do not decide."""
        told = model.Model(case)
        schema = told.last_schema()
        sparse = schema["array_type"] == "sparse"
        whole = None if sparse else expect.dense_boxes(schema, told.domain())[0]
        layouts = ["unordered", "row-major", "global-order"] if sparse else ["row-major", "col-major", "global-order"]
        queries = [{"ranges": whole, "layout": x, "timestamps": [None, None]} for x in layouts] + [
            {"ranges": q["ranges"], "layout": q["layout"], "timestamps": [None, None]} for q in case["queries"]]
        if not told.evolutions:
            queries += [{"ranges": whole, "layout": layouts[0], "timestamps": w} for w in expect.windows(case)]
        order = lambda x: "exact" if not sparse else "canonical" if x == "unordered" else "layout"
        queries = [dict(q, order=order(q["layout"])) for q in queries]
        rules = ["no libtiledb reads it"]
        if sparse and case["lib"] == "2.2.7" and any(map(of_one_byte, schema["attributes"])):
            rules.append("Validity in the wrong tiles")
        queries = [dict(q, rules=rules) for q in queries if model.note(told, schema, q, None)]
        answer = {"id": case["id"], "key": case.get("key"), "schema": schema, "fragments": None, "metadata": None,
                  "queries": queries, "time_travel": []}
        with open(os.path.join(self.expected, case["name"] + ".json"), "w") as handle:
            json.dump(answer, handle)
        return bool(queries)

    def case(self, case):
        """Writes and reads one case."""
        report = {"name": case["name"], "outcome": "good", "reader": READER, "message": "", "bins": case["bins"]}
        try:
            try:
                self.write(case)
            except Failed as failed:
                if failed.outcome != "crashed":
                    raise
                self.write(case)
            own = case["oracle"] == "writer"
            try:
                if not own:
                    self.again_if_crashed(READER, "unreadable", do="expect", case=case, own=False)
            except Failed as failed:
                own = True
                report["message"] = failed.message
            if own:
                last = case["steps"][-1].get("by", "writer")
                version = case["lib"] if last == "writer" else last
                try:
                    if version < "2" or lacks_open_strings(version, case["schema"]):
                        # what 1.x returns for empty cells of variable length is a pointer of its own
                        raise Failed("unreadable", report["message"])
                    report["reader"] = version
                    self.ask(version, "unreadable", do="expect", case=case, own=True)
                except Failed as failed:
                    report["reader"], report["message"] = "written", failed.message
                    if self.rewrite or not self.written(case):
                        raise
            if any("t.tdb" in names for _, _, names in os.walk(os.path.join(self.arrays, case["name"]))):
                report["bins"] = case["bins"] + ["consolidation/sparse with timestamps"]
        except Failed as failed:
            report.update(outcome=failed.outcome, message=failed.message)
        return report


def name_anonymous(case, path):
    """Gives an attribute without a name, in what 2.30 reads of its own array, the name that the array of 1.x has for it: 2.30 takes no
    such name."""
    if model.vt(case["lib"]) >= (2, 0):
        return
    with open(path) as handle:
        answer = json.load(handle)
    for query in answer["queries"]:
        query["fields"] = {name or "__attr": field for name, field in query["fields"].items()}
    with open(path, "w") as handle:
        json.dump(answer, handle, separators=(",", ":"), ensure_ascii=False)


def promises(case):
    """What a case will fill, as far as one can say before its files are there."""
    return case["bins"] + (["consolidation/sparse with timestamps"] if case["name"].endswith("timestamps") else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve")
    parser.add_argument("--cases")
    parser.add_argument("--out")
    parser.add_argument("--only")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("--stored", action="store_true")
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve)
    with open(args.cases) as handle:
        listed = json.load(handle)
    run = Run(args.out, args.rewrite)
    good, waiting = 0, set(listed["supported"])
    for case in listed["cases"]:
        if args.only is None and good >= args.count and not (args.fill and waiting & set(promises(case))):
            continue
        if args.only in (None, case["name"]):
            if args.stored:
                try:
                    print(json.dumps(run.ask(READER, "unreadable", do="stored", case=case)), flush=True)
                except Failed as failed:
                    print(json.dumps({"stored": [], "message": failed.message}), flush=True)
            else:
                report = run.case(case)
                if args.rewrite and report["outcome"] == "good":
                    name_anonymous(case, os.path.join(run.expected, case["name"] + ".json"))
                if report["outcome"] == "good" and not args.only:
                    good += 1
                    waiting -= set(report["bins"])
                print(json.dumps(report), flush=True)
    for server in run.servers.values():
        server.close()


if __name__ == "__main__":
    main()
