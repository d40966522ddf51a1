// Package outputs harvests the working directory of a run that has ended. The tree is the work of an adversary, who may have
// left ten thousand nested directories, FIFOs, names that are not UTF-8 and links to /etc/shadow. Contents are hashed and
// copied to an ingest directory, and never interpreted.
//
// No path is ever resolved as a whole. The walk goes one component at a time from a descriptor opened before the start
// (openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV), without recursion and with few descriptors. Every
// entry gets a verdict: regular files are outputs, anything else is recorded with a reason. The bounds are --work-files,
// --work-size, a depth of 256 and paths of 4,096 bytes; whatever is beyond one is reported and not just left out. A harvest may
// take an hour, a second for every 16 MiB of --work-size and one for every 1,000 of --work-files. If it takes longer, the run ends
// with the reason "harvest" and the directory is kept.
//
// "partial" marks every output of a run that was stopped, since each may have been open for writing. In a run that exited it
// marks the files that a process which outlived the analysis had open or mapped for writing: the init stops such processes
// before they are killed, and the supervisor checks. Every output is marked if there are more descriptors than can be checked
// (262,144), or if the launcher and the supervisor were killed since. A file is not marked if its descriptor is in transit through a
// socket, or if it is only mapped on btrfs. "changed" marks a file whose size or times changed while it was read. Only a process
// outside of the run can do that, since no process of the run is alive then.
//
// Neither launcher nor supervisor holds the verdicts of all files in memory: they wait for the commit in an unnamed file,
// and the result has a bounded excerpt. The walk makes the system calls, and another goroutine hashes small files in the
// same order (queue.go); the launcher syncs and names 4,096 of them while the supervisor goes on. Files that nothing else
// can write to are hard-linked instead of copied (docs/adr/0006).
//
// A verdict needs evidence from the entry itself, by statx(2): its type, its mode, a key of fscrypt that was removed, a size
// that changes (refusal.go). Any other error of a system call, and a name that comes or goes, is a failure of the file system
// or the work of somebody else: the harvest fails and the working directory is kept.
package outputs
