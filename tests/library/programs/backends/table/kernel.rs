//! Attacks on the kernel.

use nix::libc as c;

use super::{row, syscall};
use crate::programs::backends::harness::Expect::{Dies, Out};
use crate::programs::backends::harness::Row;

pub(super) fn kernel() -> Vec<Row> {
    let fine = "print(sum(range(10)))";
    let refused = "-1 1";
    let absent = "-1 38";
    let mut rows = Vec::new();
    let mut call = |name, number, arguments: &str, expect| rows.push(row(name, &syscall(number, arguments), Out(expect), fine, Out("45")));
    call("io_uring is absent", c::SYS_io_uring_setup, "8, 0", absent);
    call("userfaultfd is refused", c::SYS_userfaultfd, "1", refused);
    call("bpf is refused", c::SYS_bpf, "0, 0, 0", refused);
    call("perf is refused", c::SYS_perf_event_open, "0, 0, -1, -1, 0", refused);
    call("a keyring cannot be written", c::SYS_add_key, "b'user', b'marker', b'x', 1, -4", refused);
    call("a keyring cannot be read", c::SYS_keyctl, "0, -4, 0, 0, 0", refused);
    call("a key cannot be asked for", c::SYS_request_key, "b'user', b'marker', 0, -4", refused);
    call("unshare is refused", c::SYS_unshare, "0x10000000", refused);
    call("setns is refused", c::SYS_setns, "3, 0", refused);
    call("clone with a new user namespace is refused", c::SYS_clone, "0x10000011, 0, 0, 0, 0", refused);
    call("clone with a new mount namespace is refused", c::SYS_clone, "0x00020011, 0, 0, 0, 0", refused);
    call("a child cannot be handed to another parent", c::SYS_clone, "0x8011, 0, 0, 0, 0", refused);
    call("clone3 is absent", c::SYS_clone3, "0, 0", absent);
    call("mount is refused", c::SYS_mount, "b'x', b'/tmp', b'tmpfs', 0, 0", refused);
    call("umount is refused", c::SYS_umount2, "b'/roots/shelf/.env', 2", refused);
    call("the new mount interface is refused", c::SYS_fsopen, "b'tmpfs', 0", refused);
    call("open_tree is refused", c::SYS_open_tree, "-100, b'/', 1", refused);
    call("move_mount is refused", c::SYS_move_mount, "-100, b'/tmp', -100, b'/dev', 0", refused);
    call("mount attributes cannot be changed", c::SYS_mount_setattr, "-100, b'/roots/shelf', 0, 0, 0", refused);
    call("pivot_root is refused", c::SYS_pivot_root, "b'/tmp', b'/tmp'", refused);
    call("memory of other processes cannot be read", c::SYS_process_vm_readv, "1, 0, 0, 0, 0, 0", refused);
    call("descriptors of other processes cannot be taken", c::SYS_pidfd_getfd, "0, 0, 0", refused);
    call("files cannot be opened by handle", c::SYS_open_by_handle_at, "-100, 0, 0", refused);
    call("a module cannot be loaded", c::SYS_finit_module, "0, b'', 0", refused);
    call("another kernel cannot be loaded", c::SYS_kexec_load, "0, 0, 0, 0", refused);
    call("the machine cannot be rebooted", c::SYS_reboot, "0xfee1dead, 672274793, 0, 0", refused);
    call("the kernel log cannot be read", c::SYS_syslog, "3, 0, 0", refused);
    call("swap cannot be changed", c::SYS_swapoff, "b'/x'", refused);
    call("accounting cannot be switched on", c::SYS_acct, "b'/tmp/x'", refused);
    call("quota cannot be changed", c::SYS_quotactl, "0, 0, 0, 0", refused);
    call("shared memory that outlives its maker is refused", c::SYS_shmget, "0, 4096, 0o1600", refused);
    call("message queues that outlive their maker are refused", c::SYS_msgget, "0, 0o1600", refused);
    call("memory files are absent", c::SYS_memfd_create, "b'x', 0", absent);
    call("secret memory is absent", c::SYS_memfd_secret, "0", absent);
    call("fanotify is refused", c::SYS_fanotify_init, "0, 0", refused);
    call("kernel aio is refused", c::SYS_io_setup, "1, 0", refused);
    call("the personality cannot be changed", c::SYS_personality, "0x0040000", refused);
    call("the memory map cannot be forged", c::SYS_prctl, "35, 1, 0, 0, 0", refused);
    call("nothing is typed into a terminal", c::SYS_ioctl, "0, 0x5412, b'x'", refused);
    call("a console selection is not pasted", c::SYS_ioctl, "0, 0x541c, b'x'", refused);
    call("no core of the processor is kept from others", c::SYS_prctl, "62, 1, 0, 0, 0", refused);
    call("ports are not opened", c::SYS_iopl, "3", refused);
    call("the descriptor table of the processor is closed", c::SYS_modify_ldt, "0, 0, 0", refused);
    rows.push(row("x32 calls kill", &syscall(0x4000_0000 + 39, "0"), Dies(31), fine, Out("45")));
    rows.push(row(
        "32-bit calls kill",
        "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\nf = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('ran', f())",
        Dies(31),
        fine,
        Out("45"),
    ));
    rows
}
