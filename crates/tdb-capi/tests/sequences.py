"""Random sequences of calls of the C API, which must not crash.

    python crates/tdb-capi/tests/sequences.py target/debug/libtiledb.so --seed 1 --calls 20000
    python crates/tdb-capi/tests/sequences.py target/debug/libtiledb.so --replay crates/tdb-capi/tests/sequences.txt

A seed decides on the calls and their arguments: with one thread, the same seed makes the same calls.
Each call is written to a log before it is made; where the process dies or hangs, its last calls are
shown, and the exit code is 1. `--runs` goes through seeds, each in a process and a folder of its
own."""

import argparse
import faulthandler
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

SHOWN = 25


def child(options):
    """Makes the calls of one seed, in the current folder."""
    from machine import Machine, Pools
    from upkeep import Steps

    faulthandler.enable()
    faulthandler.dump_traceback_later(options.timeout * 0.9, exit=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (options.memory << 30,) * 2)
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    pools = Pools(options.library, lambda line: os.write(log, line.encode() + b"\n"), options.threads, not options.no_freed)
    first = Machine(pools, options.seed, "0")
    while not pools.handles.get("tiledb_ctx_t"):
        first.call("tiledb_ctx_alloc", None, ...)

    def work(machine):
        steps = Steps(machine)
        while machine.calls < options.calls:
            if machine.random.random() < 0.2:
                steps.some()
            else:
                machine.any()

    machines = [first] + [Machine(pools, options.seed * 1000 + index, str(index)) for index in range(1, options.threads)]
    threads = [threading.Thread(target=work, args=(machine,), daemon=True) for machine in machines[1:]]
    failures = []
    threading.excepthook = lambda failure: failures.append(failure)
    for thread in threads:
        thread.start()
    work(first)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0].exc_value
    called = sum(1 for count in pools.counts.values() if count)
    if options.verbose:
        print("without success:", *(name for name in pools.names if name not in pools.good))
    print(f"{sum(pools.counts.values())} calls, {called} of {len(pools.names)} functions, {len(pools.good)} with success")
    sys.stdout.flush()
    os._exit(0)


def run(options, seed, calls, threads):
    """Runs a seed in a process of its own. Returns whether it lived."""
    folder = tempfile.mkdtemp(prefix="sequences.")
    log = pathlib.Path(folder, "log")
    work = pathlib.Path(folder, "work")
    work.mkdir()
    command = [sys.executable, "-X", "faulthandler", __file__, str(pathlib.Path(options.library).resolve()), "--child", "--seed", str(seed)]
    command += ["--calls", str(calls), "--threads", str(threads), "--log", str(log), "--timeout", str(options.timeout), "--memory", str(options.memory)]
    command += ["--no-freed"] if options.no_freed else []
    command += ["--verbose"] if options.verbose else []
    environment = {**os.environ, "HOME": str(work), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, errors="replace", timeout=options.timeout)
        code, out, error = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as expired:
        code, out, error = "timeout", "", str(expired.stderr or "")
    name = f"seed {seed}, {calls} calls, {threads} thread{'s' if threads > 1 else ''}"
    # A panic is caught and becomes an error, but it is a fault all the same.
    panics = sorted({line.split("panicked at ")[1] for line in error.splitlines() if "panicked at " in line})
    if code == 0:
        print(f"{name}: {out.strip()}", *[f"  panic at {panic}" for panic in panics], sep="\n", flush=True)
    else:
        print(f"{name}: the process ended with {code}\n{error[-6000:]}\nlast calls:")
        lines = log.read_bytes().decode(errors="replace").splitlines() if log.exists() else []
        print("\n".join(f"  {line}" for line in lines[-SHOWN:]), flush=True)
    if (code == 0 and not panics) or not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"kept: {folder}")
    return code == 0 and not panics


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=20000, help="calls of each thread")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1, help="how many seeds, beginning with --seed")
    parser.add_argument("--replay", help="a file with a seed, a number of calls and of threads in each line")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a run counts as hanging")
    parser.add_argument("--memory", type=int, default=8, help="GiB of address space, 0 for no limit (sanitizers)")
    parser.add_argument("--no-freed", action="store_true", help="never use freed handles (sanitizers)")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a run that failed")
    parser.add_argument("--verbose", action="store_true", help="name the functions that never succeeded")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    runs = [(options.seed + index, options.calls, options.threads) for index in range(options.runs)]
    if options.replay:
        lines = pathlib.Path(options.replay).read_text().splitlines()
        runs = [tuple(map(int, line.split("#")[0].split())) for line in lines if line.split("#")[0].strip()]
    lived = [run(options, *one) for one in runs]
    print(f"{sum(lived)} of {len(lived)} sequences lived")
    sys.exit(0 if all(lived) else 1)


main()
