package request

import (
	"strings"
	"testing"
	"time"
)

// TestWishToStop: it ends a scan, but only one that takes long, and the reason is returned.
func TestWishToStop(t *testing.T) {
	stop := make(chan StopSignal, 1)
	stop <- StopSignal{Name: "SIGINT"}
	_, release := UntilStop(t.Context(), stop, time.Hour)
	if err := release(); err != nil || len(stop) != 1 {
		t.Errorf("early: %v, %d left", err, len(stop))
	}
	ctx, release := UntilStop(t.Context(), stop, 0)
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Error("late: nothing ended")
	}
	if err := release(); err == nil || !strings.Contains(err.Error(), "SIGINT") {
		t.Errorf("late: %v", err)
	}
}
