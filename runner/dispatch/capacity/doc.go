// Package capacity says how many runs a machine, or the control groups around this process, have room for.
package capacity
