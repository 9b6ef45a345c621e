//! Programs of an interpreter that waited have a stack and a processor as any other.

use super::harness::World;

/// A program that says whether the system's library knows on which processor it runs, wherever it is moved to.
const PROCESSOR: &str = "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor cpu in sorted(os.sched_getaffinity(0)) * 2:\n    \
                         os.sched_setaffinity(0, {cpu})\n    if libc.sched_getcpu() != cpu:\n        print('wrong on', cpu)\nprint('looked')";
/// A program whose child takes more of the stack than there is, beside shared memory, in which it would be seen.
const OVERFLOW: &str = "import mmap, os, sys\nareas = [mmap.mmap(-1, 1 << 16) for _ in range(64)]\npid = os.fork()\nif pid == 0:\n    \
                        sys.setrecursionlimit(10**7)\n    def deeper(n): return list(map(deeper, [n]))\n    try:\n        deeper(1)\n    \
                        finally:\n        os._exit(0)\nstatus = os.waitstatus_to_exitcode(os.wait()[1])\n\
                        spilt = sum(bool(area[:].strip(bytes(1))) for area in areas)\nprint(status in (-11, 0), spilt)";
/// A program that goes deep, as far as a stack must reach.
const DEEP: &str = "import sys\nsys.setrecursionlimit(20000)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(3000))\nimport json\nx = []\n\
                    for _ in range(900): x = [x]\nprint(len(json.dumps(x)))";
#[test]
fn programs_of_a_waiting_interpreter_know_their_processor_and_overflow_alone() {
    let world = World::new();
    world.warm_up();
    for fresh in [false, false, true] {
        let said = |program: &str| {
            let mut spec = world.spec(program);
            spec.fresh = fresh;
            world.run(&spec).unwrap().stdout
        };
        assert_eq!(said(PROCESSOR), "looked\n", "{fresh}");
        assert_eq!(said(OVERFLOW), "True 0\n", "{fresh}");
        assert_eq!(said(DEEP), "3000\n1802\n", "{fresh}");
    }
}
