//! What is said of layers that do not stand, or in part.

/// What is said where programs could have a root of their own, but do not. It holds what they can read, not what they can ask about.
pub(crate) const REDUCED_FILES: &str = "reduced: Landlock holds what is read and written, but names, sizes and dates of the host's files can be asked for, \
     modes, owners and dates cannot be set, scratch space is looked at instead of bounded, and roots stand at their own paths";

/// What is said where programs have one user number on the host: the kernel bounds some things for all its processes together.
pub(crate) const SHARED_USER: &str = "partial: all programs of this server have one user number on the host; what the kernel counts by users they share \
     (files on their way through sockets, the size of pipes); a number for each program takes a server that is root and may make mounts, and \
     roots on file systems with id-mapped mounts";

/// What is said where the processes of a program are among those of the host.
pub(crate) const REDUCED_PROCESSES: &str = "partial: no process namespace; nothing can leave its process group and all of it is killed, Landlock stops \
     signals to others, but the numbers of other processes can be asked for, and their own number is looked at now and then where other processes \
     of the same user run; where all processes of a jail and the one that starts them are killed from outside at one time, what a program \
     started lives on";

/// What is said where the kernel does not bound the processes of a program.
pub(crate) const EXEMPT_PROCESSES: &str = "partial: the server is root of a namespace of one user that root made, whose processes the kernel does not \
     bound; their number is looked at now and then; make the namespace as an ordinary user or with more users, or take `processes` out of \
     `[python] require`";

/// What is said where no control group bounds memory.
pub(crate) const PARTIAL_MEMORY: &str = "partial: the address space of each process and the resident memory of all together are bounded; what the kernel \
     holds for them (sockets, pipes, messages, page tables) and scratch space are not counted with it; give the server a memory control group \
     (`memory_cgroup` says what is missing), or take `memory` out of `[python] require`";

/// What is said where no control group counts processor time.
pub(crate) const PARTIAL_CPU_TIME: &str = "partial: what the processes use is added up by looking, and a child that lives shorter than the time between two \
     looks and whose end its parent does not take (`SIGCHLD` ignored) is counted in part; a control group would count all of it";
