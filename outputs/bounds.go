package outputs

// The default bounds of a walk.
const (
	DefaultMaxEntries = 100_000
	DefaultMaxBytes   = 1 << 30
	DefaultMaxDepth   = 256
	DefaultMaxPath    = 4096
)

// Bounds limit what is taken from a tree. A zero field means its default.
type Bounds struct {
	// MaxEntries of any kind, directories and rejected ones included.
	MaxEntries int64
	// MaxBytes of all taken files together.
	MaxBytes int64
	// MaxDepth is the number of components of a path.
	MaxDepth int
	// MaxPath is the length of a path in bytes.
	MaxPath int
}

func (b Bounds) withDefaults() Bounds {
	if b.MaxEntries == 0 {
		b.MaxEntries = DefaultMaxEntries
	}
	if b.MaxBytes == 0 {
		b.MaxBytes = DefaultMaxBytes
	}
	if b.MaxDepth == 0 {
		b.MaxDepth = DefaultMaxDepth
	}
	if b.MaxPath == 0 {
		b.MaxPath = DefaultMaxPath
	}
	return b
}
