package trace

// Lane is a row of the trace. Spans in one lane are sequential or nested. Launcher and supervisor, which are one program,
// exchange lanes by number.
type Lane int

// The lanes.
const (
	Run        Lane = iota // the launcher, what everything else waits for
	Start                  // the launcher, the start of the supervisor
	UserIDs                // newuidmap
	GroupIDs               // newgidmap
	Catalog                // the launcher, its catalog work at the same time as the run
	Digests                // the launcher, the digests of the inputs
	Supervisor             // the supervisor
	Init                   // the container's first process: libcontainer's init, then that of scidex-oci
	Analysis               // the analysis
	lanes                  // their number
)

// The processes, by the numbers that a trace has for them.
const (
	launcher   = 1
	supervisor = 2
	container  = 3
)

// Name says which row of which process a lane is.
func (l Lane) Name() string {
	process, name := l.row()
	return [...]string{launcher: "launcher", supervisor: "supervisor", container: "container"}[process] + ": " + name
}

// row says which process a lane is of, and its name.
func (l Lane) row() (process int, name string) {
	switch l {
	case Run:
		return launcher, "run"
	case Start:
		return launcher, "start of the supervisor"
	case UserIDs:
		return launcher, "newuidmap"
	case GroupIDs:
		return launcher, "newgidmap"
	case Catalog:
		return launcher, "catalog"
	case Digests:
		return launcher, "digests"
	case Supervisor:
		return supervisor, "supervisor"
	case Init:
		return container, "init"
	default:
		return container, "analysis"
	}
}
