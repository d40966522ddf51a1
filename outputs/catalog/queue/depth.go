package queue

// Depth is how many jobs a queue has that have not ended.
type Depth struct {
	Waiting   int64 // for a worker that has room
	Retrying  int64 // for their time after an error
	Scheduled int64 // for the time that they are not to begin before
	Running   int64
}
