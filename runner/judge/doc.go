// Package judge says how a run ended: the state, the reason, the exit code and the message of its result. It is pure.
package judge
