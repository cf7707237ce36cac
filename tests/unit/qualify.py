# SPDX-License-Identifier: Apache-2.0
"""What berth qualify decides, by what Slurm, berth and steps have said."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(__file__), "..", "..", "share", "berth", "qualify")
LOADER = importlib.machinery.SourceFileLoader("qualify", PATH)
q = importlib.util.module_from_spec(importlib.util.spec_from_loader("qualify", LOADER))
LOADER.exec_module(q)

UCX = "[1] [n1:205  :0]  ucp_worker.c:1903 UCX  INFO    ucp_context_0 "
FABRIC = "libfabric:9:17::core:core:fi_fabric_():1383<info> "
SLURMD = "slurmstepd-n1: error: "

# text, and the clauses that tell the network
NETWORKS = (
    ("", []),
    (
        UCX + "inter-node cfg#2 tag(tcp/eth0)  rma_am(tcp/eth0)\n" + UCX + "intra-node "
        "cfg#1 tag(sysv/memory cma/memory)  rma(sysv/memory)\n" + UCX + "self cfg#0 "
        "tag(self/memory)\n",
        ["UCX between nodes: tcp/eth0", "UCX on a node: sysv/memory cma/memory"],
    ),
    (
        "[n1:4334] mca: bml: Using self btl for send to [[5,3],0] on node n1\n"
        "[n1.x:4334] mca: bml: Using vader btl for send to [[5,3],1] on node n1\n"
        "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n11\n",
        ["Open MPI between nodes: tcp", "Open MPI on a node: vader"],
    ),
    (
        "UCX  INFO inter-node cfg#2 tag(rc_mlx5/0)\n"
        "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n2\n",
        ["UCX between nodes: rc_mlx5/0"],
    ),
    (
        "libfabric:364:1795519368::core:core:fi_getinfo():1:<info> x\n"
        "libfabric:364:1795519368::cxi:ep_ctrl:cxip_ep():1:<info> x\n"
        "libfabric:364:1795519368::ofi_rxm:ep_ctrl:rxm():1:<info> x\n"
        "libfabric:364:1795519368::ofi_mrail:fabric:mrail():285<info> x\n"
        "libfabric:ep_ctrl:x\n",
        ["libfabric: cxi"],
    ),
    (FABRIC + "Opened fabric: cxi\n", ["libfabric: cxi"]),
    (FABRIC + "Opened fabric: 10.1.0.0/16\n", []),
    (
        FABRIC + "Opened fabric: 10.1.0.0/16\n" + FABRIC + "Using tcp provider 2.1, "
        "path:/l\n" + FABRIC + "Using ofi_rxm provider 2.1, path:/l\n",
        ["libfabric: tcp"],
    ),
)

# text, and the line that tells most
OTHERS = (
    (
        SLURMD + "execve(): mpicc: No such file\nsrun: error: n1: exit code 2\n"
        "slurmstepd-n1: error: *** STEP 1.0 CANCELLED\n",
        SLURMD + "execve(): mpicc: No such file",
    ),
    ("srun: error: a\nsrun: error: b\n", "srun: error: a"),
    (
        "srun: error: a\na\nwelcome\n"
        "qualify.c:10:10: fatal error: mpi.h: No such file\nbye\nld: error\n",
        "qualify.c:10:10: fatal error: mpi.h: No such file",
    ),
    (
        "module: error: x\n" + SLURMD + "execve(): mpicc: No such file\n",
        SLURMD + "execve(): mpicc: No such file",
    ),
    (
        "error: x\n" + SLURMD + "Detected 1 oom-kill event(s) in StepId=1.0.\n",
        SLURMD + "Detected 1 oom-kill event(s) in StepId=1.0.",
    ),
    ("a\nb\nsrun: error: c\n", "b"),
    (
        "Abort(1) on node 0: Fatal error in internal_Init: Other MPI error, error "
        "stack:\ninternal_Init(66): MPI_Init() failed\n"
        "MPIDI_OFI_init(1): No data available\n",
        "MPIDI_OFI_init(1): No data available",
    ),
    (
        "note\n-----\nNo components were opened in the pml framework.\n\n  Host: n1\n"
        "-----\n*** An error occurred in MPI_Init\n",
        "No components were opened in the pml framework.",
    ),
    (
        "[1] [n1:2:0] ucp_context.c:1 UCX  ERROR no usable transports\nb\n",
        "[1] [n1:2:0] ucp_context.c:1 UCX  ERROR no usable transports",
    ),
    (
        "berth: n1: note: a\nberth: warning: b\nerror: c\nberth: n1: d; e\nberth: f\n",
        "berth: n1: d; e",
    ),
    ("srun: Terminating\nberth-qualify CMA yes\n", ""),
)


def ring(ranks, nodes, loaded=0):
    """What qualify-mpi.c says of one."""
    text = "berth-qualify library MPICH  4\nberth-qualify loaded %d\n" % loaded
    return text + "berth-qualify ring %d %d\n" % (ranks, nodes)


# (image, what of the host is to be loaded, libs), (status, text), (result, text)
NATIVE, HOST = (None, None, None), ("i", "MPICH 4.2.1", None)
LIBS = ("i", "libucp.so.0 (ucx)", "ucx")
RINGS = (
    (NATIVE, (0, ring(4, 2)), ("ok", "MPICH 4")),
    (
        HOST,
        (0, "berth-qualify open /dev/cxi1\n" * 2 + ring(4, 2, 4)),
        ("ok", "MPICH 4; 4 of 4 ranks have the host's MPICH 4.2.1; open: /dev/cxi1"),
    ),
    (
        NATIVE,
        (0, ring(4, 2) + "berth-qualify CMA no, Not permitted\n"),
        ("ok", "MPICH 4; CMA: no, Not permitted"),
    ),
    (
        LIBS,
        (0, ring(4, 2, 4) + "UCX  INFO x inter-node cfg tag(rc_mlx5/0)\n"),
        (
            "ok",
            "MPICH 4; 4 of 4 ranks have the host's libucp.so.0 (ucx); UCX between "
            "nodes: rc_mlx5/0",
        ),
    ),
    (
        HOST,
        (0, ring(4, 2, 2)),
        (
            "fail",
            "the ring passed, but 2 of 4 ranks have loaded the host's MPICH 4.2.1",
        ),
    ),
    (
        LIBS,
        (0, ring(4, 2)),
        (
            "note",
            "the ring passed, but 0 of 4 ranks have loaded the host's "
            "libucp.so.0 (ucx)",
        ),
    ),
    (
        NATIVE,
        (0, ring(1, 1) * 4),
        ("fail", "each of 4 ranks is alone: its MPI does not speak this type"),
    ),
    (
        NATIVE,
        (0, ring(4, 1)),
        ("fail", "a ring of ranks and nodes '4 1', and not '4 2'"),
    ),
    (NATIVE, (0, ""), ("fail", "a ring of ranks and nodes '', and not '4 2'")),
    (NATIVE, ("late", ""), ("fail", "it hangs: not done after 7 seconds")),
    (HOST, (3, ""), ("fail", "exit status 3")),
    (HOST, (-9, ""), ("fail", "signal 9")),
    (NATIVE, (127, "x: no such library"), ("skip", "x: no such library")),
    (NATIVE, (1, "berth-qualify started\nerror: x"), ("fail", "error: x")),
    (HOST, (127, "error: x"), ("fail", "error: x")),
)

# native, the host's MPI in the image, the image's own
SPEEDS = (
    ((0, 0, 0), "LATENCY", ("skip", "nothing was measured")),
    ((2, 0, 0), "LATENCY", ("ok", "native 2.00 us")),
    (
        (2, 2.5, 8),
        "LATENCY",
        ("ok", "native 2.00 us, host 2.50 us (1.25), own 8.00 us (4.00)"),
    ),
    (
        (2, 3, 0),
        "LATENCY",
        (
            "note",
            "native 2.00 us, host 3.00 us (1.50); slower than native by more than a "
            "third: host",
        ),
    ),
    (
        (900, 600, 0),
        "BANDWIDTH",
        (
            "note",
            "native 900 MB/s, host 600 MB/s (0.67); slower than native by more than a "
            "third: host",
        ),
    ),
    ((600, 900, 0), "BANDWIDTH", ("ok", "native 600 MB/s, host 900 MB/s (1.50)")),
    ((0, 1, 2), "LATENCY", ("ok", "host 1.00 us, own 2.00 us")),
    ((0.5, 0.75, 0), "START", ("ok", "native 0.50 s, host 0.75 s (+0.25)")),
)

DOCTOR = {
    "berth": "0.1.0",
    "plugin": "24.11",
    "slurm": "slurm 24.11.5",
    "config": "c",
    "runtime": None,
    "setuid": False,
    "mpi": ["MPICH 4 (mpich)", "Open MPI 5 (openmpi)"],
    "checks": [{"result": "note", "about": "a"}],
}
BAD = dict(
    DOCTOR,
    checks=[
        {"result": "wrong", "about": about}
        for about in ("berth's programs", "berth's programs", "runtime")
    ],
)


def outcome(status=0, text=""):
    """Of a step that may take 7 seconds."""
    late = status == "late"
    return q.Outcome(text, 0 if late else status, 1, 7 if late else 0)


def trial(image=None, host=None, libs=None, **more):
    """A ring on two nodes."""
    options = dict(image=image, host=host, libs=libs, each=2, **more)
    return q.Trial(("n1", "n2"), ("/p", "ring"), **options)


class Line(unittest.TestCase):
    """The command line."""

    def test_wrong_uses(self):
        number = "--seconds: expected a number from 1 to 86400, got '%s'"
        for text in ("0", "-1", "86401", "9999999999", "99999999999999999999"):
            self.refuses(["--seconds", text], number % text)
        self.refuses(["-p", ""], "-p: expected a value, got ''")
        self.refuses(["--image", "none"], "--image: expected an image, got 'none'")
        for words in (["image.sif"], ["--mpi"]):
            with self.assertRaises(SystemExit) as seen:
                q.read_line("true", words)
            self.assertEqual(seen.exception.code, 2)

    def refuses(self, words, text):
        with self.assertRaises(ValueError) as seen:
            q.read_line("berth", words)
        self.assertEqual(str(seen.exception), text)


class Nodes(unittest.TestCase):
    """JSON of berth."""

    def test_object_among_lines(self):
        self.assertEqual(q.read_object('hi {}\n{no\n{\n"a": [1]\n}\nbye'), {"a": [1]})
        self.assertEqual(q.read_object("hi\n{"), {})

    def test_node(self):
        text = "berth=0.1.0 slurm=slurm_24.11.5 plugin=24.11 runtime=none setuid=no "
        text += "mpi=MPICH_4_(mpich),Open_MPI_5_(openmpi)"
        self.assertEqual(q.judge_node(DOCTOR), ("ok", text))
        text = "wrong: berth's_programs,runtime; berth doctor on that node has the "
        text += "remedy"
        self.assertEqual(q.judge_node(BAD), ("fail", text))
        self.assertEqual(q.judge_node({}), ("fail", "berth doctor says nothing"))

    def test_nodes_are_compared(self):
        same = "2 nodes have the same berth, Slurm, settings, runtime and MPI"
        other = dict(DOCTOR, berth="2", setuid=True)
        for second, seen in (
            (DOCTOR, ("ok", same)),
            (dict(DOCTOR, config="d"), ("note", "n1 has config=c, and n2 config=d")),
            (
                other,
                ("fail", "n1 has berth=0.1.0, and n2 berth=2; n1 has setuid=no, and n2 "
                 "setuid=yes"),
            ),
        ):
            self.assertEqual(q.compare_nodes(["n1", "n2"], [DOCTOR, second]), seen)
        self.assertEqual(q.compare_nodes(["n1", "n2"], [{}, DOCTOR])[0], "fail")
        self.assertEqual(q.compare_nodes(["n1"], [DOCTOR])[0], "skip")

    def test_offers(self):
        rows = (
            ("openmpi", "mpi", "Open MPI", "Open MPI 5", "x"),
            ("blas", "libraries", None, "libblas.so.3", "blas"),
            ("ucx", "fabric", None, "libucp.so.0", None),
            ("libfabric", "fabric", None, "libfabric.so.1", None),
        )
        names = ("name", "kind", "family", "version", "profile")
        page = {"libs": "ucx", "stacks": [dict(zip(names, row)) for row in rows]}
        offers = q.read_offers(page)
        self.assertEqual([o["name"] for o in offers], ["openmpi", "ucx", "libfabric"])
        self.assertEqual([o["is_unnamed"] for o in offers], [False, False, True])
        text = "openmpi (Open MPI 5), ucx (libucp.so.0)"
        self.assertEqual(q.judge_offers(offers[:2]), ("ok", text))
        self.assertEqual(q.judge_offers(offers[1:])[0], "note")
        self.assertEqual(q.read_offers({}), [])


class Steps(unittest.TestCase):
    """What steps say, and what that means."""

    def test_network(self):
        for text, clauses in NETWORKS:
            self.assertEqual(list(q.read_network(text)), clauses)

    def test_the_line_that_tells_most(self):
        for text, line in OTHERS:
            self.assertEqual(q.telling(text), line)

    def test_rings(self):
        for way, ended, seen in RINGS:
            self.assertEqual(q.judge_ring(trial(*way), outcome(*ended)), seen)

    def test_builds(self):
        for status, text, result, said in (
            (0, "", "ok", ""),
            (99, "", "skip", "the image has no mpicc"),
            (127, "x", "skip", "x; so the image's mpicc builds nothing"),
            (1, "a.c: error: b", "fail", "a.c: error: b"),
        ):
            seen = q.judge_build(outcome(status, text), "image")
            self.assertEqual(seen[:2], (result, said))
            self.assertEqual(bool(seen[2]), result == "skip")

    def test_words(self):
        words = " ".join(trial().words("b-", "/d"))
        self.assertEqual(
            words,
            "--chdir=/ --nodelist=n1,n2 --nodes=2 --ntasks=4 --ntasks-per-node=2 "
            "--mpi=none /p ring",
        )
        more = dict(bind="hybrid", settings="A=1,B=2", is_verbose=True, mpi="pmix")
        words = list(trial("/my image", "x", "ucx", **more).words("b-", "/d"))
        self.assertEqual(
            words[5:],
            [
                "--mpi=pmix",
                "--export=ALL,UCX_LOG_LEVEL=info,FI_LOG_LEVEL=info,"
                "OMPI_MCA_btl_base_verbose=1,A=1,B=2",
                "--b-container-image=/my image",
                "--b-mpi-bind=hybrid",
                "--b-container-libs=ucx",
                "--b-container-mounts=/d:/d",
                "-v",
                "/p",
                "ring",
            ],
        )


class Page(unittest.TestCase):
    """Figures and the verdict."""

    def test_speeds(self):
        for values, kind, seen in SPEEDS:
            kind = getattr(q, kind)
            series = []
            for name, value in zip(("native", "host", "own"), values):
                is_judged = name == "host" and kind != q.START
                series.append(q.Series(name, trial(), is_judged))
                series[-1].values = {kind[0]: [value, value]}
            result, text, figures = q.judge_series(kind, series)
            self.assertEqual((result, text), seen)
            self.assertEqual(len(figures), sum(value > 0 for value in values))

    def test_what_fails_once_is_a_failure(self):
        native, own = q.Series("native", trial()), q.Series("own", trial())
        native.add(outcome(0, "berth-qualify latency 2\n"), "a")
        own.add(outcome(1, "error: no endpoint"), "b")
        self.assertEqual(
            q.judge_series(q.LATENCY, [native, own])[:2],
            ("fail", "native 2.00 us; own: error: no endpoint"),
        )

    def test_checks_are_escaped(self):
        check = q.new_check("fail", "a", "b\033[0m", "c")
        self.assertEqual(check["text"], "b\\x1b[0m")

    def test_verdict(self):
        why = "MPI was not tried in a.sif: x"
        for results, untried, has_one, seen in (
            (("ok", "note"), "", False, (True, "qualified")),
            (("ok", "skip"), "", False, (True, "qualified")),
            (
                ("ok", "ok"),
                "",
                True,
                (True, "qualified on one node; nothing was tried between nodes"),
            ),
            (("ok", "skip"), why, True, (False, "not qualified: " + why)),
            (("fail", "ok"), "", False, (False, "not qualified: 1 check failed")),
            (("fail", "fail"), why, False, (False, "not qualified: 2 checks failed")),
        ):
            rows = [q.new_check(result, "a", "b") for result in results]
            passed, total, text = q.verdict(rows, untried, has_one)
            self.assertEqual((passed, text), seen)
        self.assertEqual(total, "2 checks: 0 ok, 0 notes, 0 skipped, 2 failed")


if __name__ == "__main__":
    unittest.main()
