package image

import "os"

// Hold is the descriptor by which the root is in use. Whoever has a duplicate of it, another process too, keeps the
// root from being exchanged or removed for as long as it is open, also when this Root has been closed (flock(2)).
// It is the Root's to close.
func (r *Root) Hold() *os.File { return r.lock }
