package catalog

// Usage is what one run that has ended asked for and used. A figure that is not known is 0.
type Usage struct {
	// Label is the value of the label that was asked for; Labelled is false for a run without it.
	Label    string
	Labelled bool

	WallMS, CPUMS int64 // milliseconds
	MemoryPeak    int64 // bytes

	Memory    int64   // the limit that the request has, in bytes
	CPUs      float64 // likewise, in cores
	TimeoutMS int64   // likewise, in milliseconds

	// OutOfMemory and TimedOut say that the limit has ended the run: it would have used more.
	OutOfMemory, TimedOut bool
}
