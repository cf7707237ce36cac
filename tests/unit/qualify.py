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

NOTE = "berth: n1: note: image '/i': --mpi-bind=host: "
UCX = "[1] [n1:205  :0]  ucp_worker.c:1903 UCX  INFO    ucp_context_0 "
FABRIC = "libfabric:9:17::core:core:fi_fabric_():1383<info> "
SLURMD = "slurmstepd-n1: error: "
REFUSED = "berth: n1: image 'i': --mpi-bind=host: "

# text: library, cma, ranks, nodes, rings, latency, bandwidth, devices
MEASURED = {
    "": ("", "", 0, 0, 0, 0, 0, []),
    "berth-qualify library MPICH Version:      4.2.1\nberth-qualify cma yes\nnoise\n"
    "berth-qualify ring 4 2\n": ("MPICH Version: 4.2.1", "yes", 4, 2, 1, 0, 0, []),
    "berth-qualify library Open MPI v4.1.4, package: Debian\n"
    "berth-qualify cma no Operation not permitted\n": (
        ("Open MPI v4.1.4", "Operation not permitted", 0, 0, 0, 0, 0, [])
    ),
    "berth-qualify ring 1 1\nberth-qualify ring 1 1\n": ("", "", 1, 1, 2, 0, 0, []),
    "berth-qualify latency 1.5\nberth-qualify bandwidth 12000.0\n": (
        ("", "", 0, 0, 0, 1.5, 12000, [])
    ),
    "berth-qualify device /dev/cxi10\nberth-qualify device /dev/cxi1\n"
    "berth-qualify device /dev/cxi1\nberth-qualify device /dev/cxi10": (
        ("", "", 0, 0, 0, 0, 0, ["/dev/cxi10", "/dev/cxi1"])
    ),
}
NOT_MEASURED = (
    "",
    "ring",
    "ring 4",
    "ring 4 x",
    "ring 4 2 1",
    "ring 2 4",
    "ring 0 0",
    "cma maybe",
    "latency 0",
    "latency -1",
    "latency nan",
    "latency 1s",
    "bandwidth inf",
    "speed 1",
    "number 1",
    "library ",
)

# text: ranks, of, host, between, within, provider or opened, sentence, other
HEARD = (
    ("", (0, 0, "", "", "", "", "", "")),
    (
        NOTE + "2 of 2 ranks loaded the host's MPICH 4.2.1\n" + NOTE + "1 of 2 ranks "
        "loaded the host's MPICH 4.2.1; 1 use the network\n",
        (3, 4, "MPICH 4.2.1", "", "", "", "", ""),
    ),
    (
        NOTE + "no rank of this node was seen to load an MPI library\n",
        (0, 0, "", "", "", "", "", ""),
    ),
    (
        UCX + "inter-node cfg#2 tag(tcp/eth0)  rma_am(tcp/eth0)\n" + UCX + "intra-node "
        "cfg#1 tag(sysv/memory cma/memory)  rma(sysv/memory)\n" + UCX + "self cfg#0 "
        "tag(self/memory)\n",
        (0, 0, "", "tcp/eth0", "sysv/memory cma/memory", "", "", ""),
    ),
    (
        "[n1:4334] mca: bml: Using self btl for send to [[5,3],0] on node n1\n"
        "[n1.x:4334] mca: bml: Using vader btl for send to [[5,3],1] on node n1\n"
        "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n11\n",
        (0, 0, "", "tcp", "vader", "", "", ""),
    ),
    (
        "UCX  INFO inter-node cfg#2 tag(rc_mlx5/0)\n"
        "[n1:4334] mca: bml: Using tcp btl for send to [[5,3],2] on node n2\n",
        (0, 0, "", "rc_mlx5/0", "", "", "", ""),
    ),
    (
        "libfabric:364:1795519368::core:core:fi_getinfo():1:<info> x\n"
        "libfabric:364:1795519368::cxi:ep_ctrl:cxip_ep():1:<info> x\n"
        "libfabric:364:1795519368::ofi_rxm:ep_ctrl:rxm():1:<info> x\n"
        "libfabric:364:1795519368::ofi_mrail:fabric:mrail():285<info> x\n"
        "libfabric:ep_ctrl:x\n",
        (0, 0, "", "", "", "cxi", "", ""),
    ),
    (FABRIC + "Opened fabric: cxi\n", (0, 0, "", "", "", "cxi", "", "")),
    (FABRIC + "Opened fabric: 10.1.0.0/16\n", (0, 0, "", "", "", "", "", "")),
    (
        FABRIC + "Opened fabric: 10.1.0.0/16\n" + FABRIC + "Using tcp provider 2.1, "
        "path:/l\n" + FABRIC + "Using ofi_rxm provider 2.1, path:/l\n",
        (0, 0, "", "", "", "tcp", "", ""),
    ),
    (
        "berth: n1: warning: a\nberth: n1: b; c\nberth: n2: d\nsrun: error: n1: e\n"
        "srun: Terminating\nberth-qualify cma yes\n",
        (0, 0, "", "", "", "", "berth: n1: b; c", "srun: error: n1: e"),
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
)


def ring(ranks, nodes):
    """What qualify.c says of one."""
    return "berth-qualify library MPICH 4\nberth-qualify ring %d %d\n" % (ranks, nodes)


PASSED = ring(4, 2)
LOADED = NOTE + "%d of 4 ranks loaded the host's %s\n"

# (image, bind, fabric), (status, out, log), (result, text)
NATIVE, HOST, UCX_WAY = (None, None, None), ("i", "host", None), ("i", "hybrid", "ucx")
RINGS = (
    (NATIVE, (0, PASSED, ""), ("ok", "MPICH 4; the network is not told")),
    (
        HOST,
        (0, PASSED + "berth-qualify device /dev/cxi0\n", LOADED % (4, "MPICH 4")),
        ("ok", "MPICH 4; 4 of 4 ranks have the host's MPICH 4; open: /dev/cxi0"),
    ),
    (
        UCX_WAY,
        (
            0,
            PASSED,
            LOADED % (4, "ucx") + "UCX  INFO x inter-node cfg tag(rc_mlx5/0)\n"
            "UCX  INFO x intra-node cfg tag(sysv)\n",
        ),
        (
            "ok",
            "MPICH 4; 4 of 4 ranks have the host's ucx; UCX between nodes: rc_mlx5/0; "
            "on a node: sysv",
        ),
    ),
    (
        NATIVE,
        (0, PASSED, "[n1:4] mca: bml: Using sm btl for send to [[5,3],1] on node n1\n"),
        ("ok", "MPICH 4; Open MPI on a node: sm; the network is not told"),
    ),
    (
        ("i", "hybrid", None),
        (0, PASSED, "libfabric:1:1::tcp:ep_ctrl:f():1<info> x\n"),
        ("ok", "MPICH 4; libfabric: tcp"),
    ),
    (
        HOST,
        (0, PASSED, LOADED % (2, "MPICH 4")),
        (
            "fail",
            "the ring passed, and 2 of 4 ranks are known to have loaded what the host "
            "has",
        ),
    ),
    (
        UCX_WAY,
        (0, PASSED, ""),
        (
            "note",
            "the ring passed, but not on the host's ucx: 0 of 4 ranks have loaded it, "
            "so the image's MPI chose another way",
        ),
    ),
    (
        NATIVE,
        (0, ring(1, 1) * 2, ""),
        ("fail", "each of 4 ranks is alone: its MPI does not speak this type"),
    ),
    (
        NATIVE,
        (0, ring(4, 1), ""),
        ("fail", "a ring of 4 ranks on 1 nodes, and not of 4 on 2"),
    ),
    (NATIVE, (0, "", ""), ("fail", "a ring of 0 ranks on 0 nodes, and not of 4 on 2")),
    (NATIVE, ("late", PASSED, ""), ("fail", "it hangs: not done after 7 seconds")),
    (
        HOST,
        (1, "", REFUSED + "too old; x\nsrun: error: y"),
        ("note", REFUSED + "too old; x"),
    ),
    (HOST, (3, "", ""), ("fail", "exit status 3")),
    (HOST, (-9, "", ""), ("fail", "signal 9")),
)
# Of a failure with the host's MPI in an image: the sentence, and the result.
REFUSALS = (
    ("berth: n1: image 'i': --site-mpi-bind=host: too old; x", "note"),
    ("berth: n1: image 'i': --container-x: no; choose --mpi-bind=hybrid", "fail"),
    (REFUSED + "'/tmp/x': cannot be written: No space", "fail"),
    (REFUSED + "'/x': not done after 30 seconds; y", "fail"),
    (REFUSED + "rank 0 runs with 'x'", "fail"),
    ("berth: n1: --mpi-bind=host: it speaks PMI and the step has --mpi=pmix", "fail"),
)
# Of a failure: the image, the status, what was said, and the result.
STARTS = (
    (None, 127, "x: error while loading shared libraries: libmpi.so.12: y", "skip"),
    (None, 127, "x: symbol lookup error: x: undefined symbol: MPI_Init", "skip"),
    (None, 2, SLURMD + "execve(): /d/image-1: No such file or directory", "skip"),
    (None, 1, "p: libc.so.6: version `GLIBC_2.38' not found (required by p)", "skip"),
    (None, 127, "x: gcc: not found", "fail"),
    ("i", 127, "x: error while loading shared libraries: libmpi.so.12: y", "fail"),
)

# native, the host's MPI in the image, the image's own, its own on a fabric
SPEEDS = (
    ((0, 0, 0, 0), False, ("skip", "nothing was measured")),
    ((2, 0, 0, 0), False, ("ok", "native 2.00 us")),
    (
        (2, 2.5, 8, 0),
        False,
        ("ok", "native 2.00 us, host 2.50 us (1.25), own 8.00 us (4.00)"),
    ),
    (
        (2, 3, 9, 4),
        False,
        (
            "note",
            "native 2.00 us, host 3.00 us (1.50), own 9.00 us (4.50), own on ucx 4.00 "
            "us (2.00); slower than native by more than a third: host, own on ucx",
        ),
    ),
    (
        (900, 600, 0, 0),
        True,
        (
            "note",
            "native 900 us, host 600 us (0.67); slower than native by more than a "
            "third: host",
        ),
    ),
    ((600, 900, 0, 0), True, ("ok", "native 600 us, host 900 us (1.50)")),
    ((0, 1, 2, 0), True, ("ok", "host 1.00 us, own 2.00 us")),
)

TYPES = "MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\n"
PMIX = "specific pmix plugin versions available: pmix_v4,pmix_v5\n"
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


def outcome(status=0, out="", log=""):
    """Of a step that may take 7 seconds."""
    late = status == "late"
    return q.Outcome(
        q.Measured(out), q.Heard(out, log), 0 if late else status, 1, 7 if late else 0
    )


def trial(image=None, bind=None, fabric=None, **more):
    """A ring on two nodes."""
    options = dict(image=image, bind=bind, fabric=fabric, each=2, **more)
    return q.Trial(("n1", "n2"), ("/p", "ring"), **options)


class Slurm(unittest.TestCase):
    """Text of Slurm's commands."""

    def test_types(self):
        self.assertEqual(q.read_types(TYPES + PMIX), ["pmix", "pmi2"])
        text = "srun: MPI types are...\nsrun: none\nsrun: pmi2\n"
        self.assertEqual(q.read_types(text), ["pmi2"])
        for text in ("srun: error: no such thing\n", "MPI plugin types are...", ""):
            self.assertEqual(q.read_types(text), [])

    def test_versions(self):
        self.assertEqual(q.read_versions(TYPES + PMIX), ["pmix_v4", "pmix_v5"])
        self.assertEqual(q.read_versions(TYPES), [])

    def test_hosts(self):
        text = "n1\nscontrol: warning: n3\n\nn2\n"
        self.assertEqual(q.read_hosts(text), ["n1", "n2"])

    def test_nodes_of_a_partition(self):
        for text, is_named, number in (
            ("", False, 0),
            ("debug* 1\nlong 4\n", False, 1),
            ("debug* 1\ndebug* 2\n", False, 3),
            ("long 1\n", False, 0),
            ("long 1\n", True, 1),
            ("sinfo: error: 1\nlong one\n\nlong 1 2\nlong 1", True, 0),
        ):
            self.assertEqual(q.count_nodes(text, is_named), number, text)

    def test_extern_step(self):
        self.assertTrue(q.has_extern("PrologFlags   = Alloc,Contain\n"))
        self.assertTrue(q.has_extern("PrologFlags   = X11\n"))
        self.assertFalse(q.has_extern("PrologFlags   = Alloc\nx = contain\n"))
        self.assertFalse(q.has_extern("contain"))


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
        for first, second, seen in (
            (DOCTOR, DOCTOR, ("ok", same)),
            (
                DOCTOR,
                dict(DOCTOR, config="d"),
                ("note", "n1 has config=c, and n2 config=d"),
            ),
            (
                DOCTOR,
                dict(DOCTOR, berth="2", setuid=True),
                ("fail", "n1 has berth=0.1.0, and n2 berth=2; n1 has setuid=no, and n2 "
                 "setuid=yes"),
            ),
            ({}, {}, ("skip", "no node has told what it has")),
        ):
            self.assertEqual(q.compare_nodes(["n1", "n2"], [first, second]), seen)
        self.assertEqual(q.compare_nodes(["n1", "n2"], [{}, DOCTOR])[0], "fail")

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
        self.assertEqual([o.name for o in offers], ["openmpi", "ucx", "libfabric"])
        self.assertEqual([o.is_named for o in offers], [True, True, False])
        text = "openmpi (Open MPI 5), ucx (libucp.so.0)"
        self.assertEqual(q.judge_offers(offers[:2]), ("ok", text))
        none = "no MPI of the host; berth profiles there has the remedy"
        self.assertEqual(q.judge_offers([]), ("note", none))
        self.assertEqual(
            q.judge_offers(offers[1:2]), ("note", "ucx (libucp.so.0); " + none)
        )
        self.assertTrue(q.fits(offers[0], "Open MPI v5.0.7"))
        self.assertFalse(q.fits(offers[0], "MPICH Version: 4.2.1"))
        self.assertTrue(q.fits(q.Offer("m", "v", "MPICH"), "MPICH Version: 4.2.1"))

    def test_settings_of_a_fabric(self):
        for version, library, start in (
            ("libfabric.so.1.27.0", "Open MPI v5.0.7", "OMPI_MCA_pml=cm,"),
            ("libucp.so.0.0.0", "Open MPI v4.1.4", "OMPI_MCA_pml=ucx,"),
            ("libnccl-net.so", "Open MPI v5.0.7", "None"),
            ("libfabric.so.1.27.0", "MPICH Version: 4.2.1", "None"),
        ):
            settings = str(q.settings_of(q.Offer("x", version), library))
            self.assertEqual(settings[: len(start)], start)


class Steps(unittest.TestCase):
    """What steps say, and what that means."""

    def test_measured(self):
        for text, seen in MEASURED.items():
            it = q.Measured(text)
            numbers = (it.ranks, it.nodes, it.rings, it.latency, it.bandwidth)
            self.assertEqual((it.library, it.cma) + numbers + (it.devices,), seen)

    def test_not_measured(self):
        for text in NOT_MEASURED:
            line = "berth-qualify " + text
            with self.assertRaises(q.Fault) as caught:
                q.Measured(line)
            why = "the program says '%s', which is not a result" % line
            self.assertEqual(str(caught.exception), why)

    def test_heard(self):
        for text, seen in HEARD:
            it = q.Heard(text)
            texts = (it.between, it.within, it.provider or it.opened)
            told = (it.ranks, it.of, it.host) + texts + (it.sentence, it.other)
            self.assertEqual(told, seen)

    def test_the_line_that_tells_most(self):
        for text, line in OTHERS:
            self.assertEqual(q.Heard(text).other, line)

    def test_rings(self):
        for way, ended, seen in RINGS:
            self.assertEqual(q.judge_ring(trial(*way), outcome(*ended)), seen)

    def test_refusals(self):
        for sentence, result in REFUSALS:
            seen = q.judge_ring(trial("i", "host"), outcome(1, "", sentence))
            self.assertEqual(seen, (result, sentence))

    def test_programs_that_do_not_start(self):
        for image, status, text, result in STARTS:
            seen = q.judge_ring(trial(image), outcome(status, "", text))
            self.assertEqual(seen, (result, text))

    def test_failures_that_stay(self):
        other = "berth: n1: --mpi-bind=m: it speaks PMI-2 and the step has --mpi=pmix"
        for image, bind, status, log, stays in (
            (None, None, 1, "x", False),
            (None, None, "late", "x", True),
            ("i", "hybrid", 1, "x", False),
            ("i", "mpich", 1, "x", True),
            ("i", "mpich", 1, other, False),
        ):
            seen = q.stays(trial(image, bind), outcome(status, "", log))
            self.assertEqual(seen, stays)

    def test_builds(self):
        for log, status, why in (
            (SLURMD + "execve(): mpicc: No such file or directory", 2, "none"),
            ("berth: n1: command 'mpicc' is not on the image's PATH (/bin)", 1, "none"),
            ("mpicc: gcc: not found", 127, "bare"),
            ("berth: n1: no such image", 127, ""),
            ("x", "late", ""),
        ):
            self.assertEqual(q.judge_build(outcome(status, "", log)), why)

    def test_words(self):
        words = " ".join(trial(mpi="none").words("b-", "/d"))
        self.assertEqual(
            words,
            "--chdir=/ --nodelist=n1,n2 --nodes=2 --ntasks=4 --ntasks-per-node=2 "
            "--mpi=none /p ring",
        )
        more = dict(lifetime="job", settings="A=1,B=2", is_verbose=True, mpi="pmix")
        words = list(trial("/my image", "hybrid", "ucx", **more).words("b-", "/d"))
        self.assertEqual(words[5:7], ["--mpi=pmix", "-v"])
        self.assertEqual(
            words[7:],
            [
                "--export=ALL,UCX_LOG_LEVEL=info,FI_LOG_LEVEL=info,"
                "OMPI_MCA_btl_base_verbose=1,A=1,B=2",
                "--b-container-image=/my image",
                "--b-mpi-bind=hybrid",
                "--b-container-libs=ucx",
                "--b-container-lifetime=job",
                "--b-container-mounts=/d:/d",
                "/p",
                "ring",
            ],
        )
        self.assertEqual(q.quote("/d/it's"), "'/d/it'\\''s'")
        self.assertEqual(q.quote("--a=b,c:/d"), "--a=b,c:/d")
        self.assertEqual(q.quote(""), "''")


class Page(unittest.TestCase):
    """Rows, figures and the verdict."""

    def test_speeds(self):
        names = ("native", "host", "own", "own on ucx")
        for values, is_more_better, seen in SPEEDS:
            kind = q.Kind("x", "us", is_more_better=is_more_better)
            figures = [
                q.Figure(name, value, name in names[1::2])
                for name, value in zip(names, values)
            ]
            self.assertEqual(q.compare(kind, figures), seen)

    def test_starts_are_sums(self):
        values = (("host", 0.5), ("image", 0.75), ("kept", 0.25))
        figures = [q.Figure(*value) for value in values]
        text = "host 0.50 s, image 0.75 s (+0.25), kept 0.25 s (-0.25)"
        self.assertEqual(q.compare(q.START, figures), ("ok", text))

    def test_median(self):
        for values, seen in (([3, 1, 2], 2), ([9, 1, 2, 4], 3), ([5], 5), ([], 0)):
            self.assertEqual(q.median(values), seen)

    def test_a_fabric_without_a_name_may_fail(self):
        for is_unnamed, result in ((True, "note"), (False, "fail")):
            native = q.Series("native", trial())
            fabric = q.Series("ucx", trial(), is_unnamed=is_unnamed)
            native.add(outcome(0, "berth-qualify latency 2\n"), "a")
            native.fault = ""
            fabric.add(outcome(1, "", "error: no endpoint"), "b")
            self.assertEqual(
                q.judge_series(q.LATENCY, [native, fabric]),
                (result, "native 2.00 us; ucx: error: no endpoint", "b"),
            )

    def test_rows(self):
        failed = (("a", "b\033[0m", "c"), "de", "hi")
        rows = [q.Check("fail", *texts) for texts in failed]
        rows[2].stays = True
        q.settle(rows)
        self.assertEqual(q.count(rows, "fail"), 3)
        rows.append(q.Check("ok", "f", "g", "k"))
        q.settle(rows[1:])
        text = "fail  a: b\\x1b[0m\n      again: c note  d: e fail  h: i ok    f: g"
        self.assertEqual(" ".join(row.lines(False) for row in rows), text)
        self.assertEqual(rows[3].lines(True), "ok    f: g\n      again: k")
        total = "4 checks: 1 ok, 1 note, 0 skipped, 2 failed"
        self.assertEqual(q.total(rows), total)

    def test_members(self):
        row = q.Check("ok", "a", "b")
        row.network, row.unit = "cxi", "us"
        row.figures = [q.Figure("native", 2), q.Figure("x", 0), q.Figure("own", 3.0004)]
        members = row.members()
        self.assertEqual(members["network"], "cxi")
        own = {"way": "own", "value": 3.0, "unit": "us", "ratio": 1.5}
        self.assertEqual(members["figures"][1:], [own])
        row.figures[0] = q.Figure("native", 0)
        self.assertEqual(row.members()["figures"], [dict(own, ratio=None)])
        self.assertIsNone(q.Check("ok", "a", "b").members()["network"])

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
            rows = [q.Check(result, "a", "b") for result in results]
            self.assertEqual(q.verdict(rows, untried, has_one), seen)


if __name__ == "__main__":
    unittest.main()
