// Package request has what a run is asked for, beside the analysis itself, and the errors of a request that is refused.
package request
