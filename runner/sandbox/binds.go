package sandbox

// BindReport is how host paths are shown to an analysis.
type BindReport struct {
	// Sockets is the weakest wall of the directories that the run binds.
	Sockets SocketWall `json:"sockets,omitempty"`
	// Bare lists the sources shown as they are, without an overlay.
	Bare []string `json:"bare,omitempty"`
}

// Note records how a source is shown.
func (r *BindReport) Note(wall SocketWall, source string) {
	if wall == WallScan {
		r.Bare = append(r.Bare, source)
	}
}

// SocketWall is what keeps the analysis from connecting to a unix socket, or opening a FIFO, in a directory that it can
// read: a read-only mount does not.
type SocketWall string

// Its values. Empty: no directory is bound.
const (
	// WallOverlay: a read-only overlay, which has its own inodes. Nothing listens on a socket in it (connect(2) gives
	// ECONNREFUSED), not even on one made later.
	WallOverlay SocketWall = "overlay"
	// WallScan: no overlay was possible. A scan by the launcher found no socket.
	WallScan SocketWall = "scan"
)

// Weaker returns the weaker of the two walls.
func (w SocketWall) Weaker(other SocketWall) SocketWall {
	if w == "" || other == WallScan {
		return other
	}
	return w
}
