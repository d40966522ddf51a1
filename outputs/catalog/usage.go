package catalog

// Usage is what one ended run requested and used. Unknown figures are 0.
type Usage struct {
	// Label is the value of the requested label; Labelled is false for a run without it.
	Label    string
	Labelled bool

	WallMS, CPUMS int64 // milliseconds
	MemoryPeak    int64 // bytes

	Memory    int64   // the requested limit, in bytes
	CPUs      float64 // likewise, in cores
	TimeoutMS int64   // likewise, in milliseconds

	// OutOfMemory and TimedOut say that the limit ended the run: it would have used more.
	OutOfMemory, TimedOut bool
}
