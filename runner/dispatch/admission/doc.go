// Package admission decides whether one more run may start, for batch, engine and worker. A Scheduler grants slots in the order in
// which they were requested, while the number of runs and the sum of their limits allow it: a large run is not overtaken. A caller
// need not know how an Account counts the runs of other engines, or when it pays to prepare a run before its slot.
//
// The three differ in what they promise, and so in their Options:
//
//	               Runs                           Total                       Account  Overlap
//	batch          --jobs, else as many of the    none                        none     --jobs, unless the end of one line
//	               largest line as the host has                                        decides on others, or a hook follows
//	               free memory and CPUs for
//	engine         what files, threads and ids    memory and CPUs of the      shared   as many with the default limits as
//	               allow, at most 256             host, or of its groups               Total holds, unless a hook follows
//	engine --jobs  N, whatever their limits       none                        none     N, unless a hook follows
//	worker         --jobs, else as many with the  --total-memory and          none     none: a job waits for 10 s, and goes
//	               default limits as Total holds  --total-cpus, else what is           back to the queue for other workers
//	                                              free at the start
package admission
