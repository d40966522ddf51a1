package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// sample is a run as small as it may be.
func sample(id string) catalog.Run {
	return catalog.Run{
		Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running},
		CreatedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Labels: map[string]string{"k": "v"},
	}
}

func over(run catalog.Run) catalog.Run {
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt.Add(time.Minute)
	return run
}

// many returns n outputs.
func many(n int) func() (outputs.Entry, error) {
	i := 0
	return func() (outputs.Entry, error) {
		if i == n {
			return outputs.Entry{}, io.EOF
		}
		i++
		return outputs.Entry{
			Path: fmt.Appendf(nil, "results/%02d/file-%06d.csv", i%97, i), Size: int64(i), SHA256: fmt.Sprintf("%064x", i*0x9e3779b1),
			MediaType: "text/csv", Mode: 0o644,
		}, nil
	}
}

func opened(t testing.TB, url string) *Catalog {
	t.Helper()
	c, err := Open(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// migrated is a database with the newest schema, made by scidex_admin.
func migrated(t testing.TB, c *cluster) string {
	t.Helper()
	return c.copyOf(t, "the newest schema", func(original string) {
		_, _, err := Migrate(t.Context(), c.url("boss", original))
		must(t, err)
	})
}

// wantCommitted checks that a run is there with n entries, each once.
func wantCommitted(t *testing.T, c *Catalog, id string, n int64) {
	t.Helper()
	run, err := c.Get(t.Context(), catalog.Key{ID: id})
	must(t, err)
	count := int64(0)
	must(t, c.Outputs(t.Context(), run.Key, func(outputs.Entry) bool { count++; return true }))
	if run.State != outcome.Complete || run.OutputsTotal != n || count != n {
		t.Errorf("run %s is %s with %d of %d outputs, want %d", id, run.State, count, run.OutputsTotal, n)
	}
}

func wantOpen(t *testing.T, c *Catalog, id string) {
	t.Helper()
	run, err := c.Get(t.Context(), catalog.Key{ID: id})
	must(t, err)
	count := 0
	must(t, c.Outputs(t.Context(), run.Key, func(outputs.Entry) bool { count++; return true }))
	if run.State != outcome.Running || count != 0 {
		t.Errorf("run %s is %s with %d outputs, want it running with none", id, run.State, count)
	}
}

func TestLostReply(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	direct := opened(t, server.url("runner", name))
	p := newProxy(t, server)
	c := opened(t, p.url(t, server.tcp("runner", "runner-password", name)))
	for i, tt := range []struct {
		fault fault
		want  string // a part of the error, or empty for success
	}{
		{dropReply, ""},
		{dropAsk, "nothing of it was committed"},
	} {
		run := sample(fmt.Sprint("run-", i))
		must(t, c.Create(t.Context(), run))
		p.next(tt.fault)
		err := c.Commit(t.Context(), over(run), many(1000))
		if tt.want == "" {
			must(t, err)
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Commit: error = %v, want %q", err, tt.want)
		} else {
			wantOpen(t, direct, run.ID)
			must(t, c.Commit(t.Context(), over(run), many(1000)))
		}
		wantCommitted(t, direct, run.ID, 1000)
		must(t, c.Commit(t.Context(), over(run), many(7))) // once more
		wantCommitted(t, direct, run.ID, 1000)
	}
	// What Commit reports is true, whatever the server did.
	for i := range 10 {
		run := sample(fmt.Sprint("cut-", i))
		must(t, c.Create(t.Context(), run))
		p.next(hangUp)
		if err := c.Commit(t.Context(), over(run), many(10)); err != nil {
			wantOpen(t, direct, run.ID)
		} else {
			wantCommitted(t, direct, run.ID, 10)
		}
	}
}

// A row whose reply was lost is distinguished from a row of another process, which was faster.
func TestLostReplyOfCreate(t *testing.T) {
	t.Parallel() // it waits
	server := theCluster(t)
	name := migrated(t, server)
	direct := opened(t, server.url("runner", name))
	p := newProxy(t, server)
	c := opened(t, p.url(t, server.tcp("runner", "runner-password", name)))
	full := func(id string) catalog.Run {
		run := sample(id)
		run.Host, run.BootID = "here", "boot"
		run.Request, run.Place = json.RawMessage(`{"id": "x"}`), json.RawMessage(`{"state":"/root/runs/x@1.json"}`)
		return run
	}
	for i, f := range []fault{dropReply, dropAsk, hangUp, hangUp, hangUp} {
		run := full(fmt.Sprint("ours-", i))
		p.next(f)
		must(t, c.Create(t.Context(), run))
		got, err := direct.Get(t.Context(), run.Key)
		must(t, err)
		if got.State != outcome.Running || got.Labels["k"] != "v" {
			t.Errorf("the row is %+v", got)
		}
		if err := c.Create(t.Context(), run); !errors.Is(err, catalog.ErrExists) {
			t.Errorf("the same once more: error = %v, want ErrExists", err)
		}
	}
	run, theirs := full("theirs"), full("theirs")
	theirs.Host = "there"
	p.during(dropAsk, func() { must(t, direct.Create(t.Context(), theirs)) }) // as long as the server lets the lost one live
	if err := c.Create(t.Context(), run); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("a row of somebody else: error = %v, want ErrExists", err)
	}
}

// What is distinguished if the row exists already.
func TestOrOurs(t *testing.T) {
	c := opened(t, theCluster(t).url("runner", migrated(t, theCluster(t))))
	run := sample("x")
	run.Host, run.BootID = "here", "boot"
	run.Request, run.Place = json.RawMessage(`{"id": "x"}`), json.RawMessage(`{"state":"/root/runs/x@1.json"}`)
	must(t, c.Create(t.Context(), run))
	for what, differ := range map[string]func(*catalog.Run){
		"nothing": func(*catalog.Run) {},
		"time":    func(r *catalog.Run) { r.CreatedAt = r.CreatedAt.Add(time.Millisecond) },
		"host":    func(r *catalog.Run) { r.Host = "there" },
		"boot":    func(r *catalog.Run) { r.BootID = "other" },
		"request": func(r *catalog.Run) { r.Request = json.RawMessage(`{"id":"y"}`) },
		"place":   func(r *catalog.Run) { r.Place = nil },
	} {
		is := run
		differ(&is)
		err := c.write(t.Context(), orOurs(is, func(context.Context, pgx.Tx) error { return catalog.ErrExists }))
		if ours := err == nil; ours != (what == "nothing") || !ours && !errors.Is(err, catalog.ErrExists) {
			t.Errorf("a row with another %s: error = %v", what, err)
		}
	}
}

// If a reply and the connection to the server are lost, the outcome is unknown, and the error says so.
func TestLostServer(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	p := newProxy(t, server)
	c := opened(t, p.url(t, server.tcp("runner", "runner-password", name)))
	c.timeout = 100 * time.Millisecond
	run := sample("a")
	must(t, c.Create(t.Context(), run))
	p.next(dropReply)
	must(t, p.Close()) // no connection after this one
	err := c.Commit(t.Context(), over(run), many(10))
	if err == nil || !strings.Contains(err.Error(), "could not be seen") || strings.Contains(err.Error(), "runner-password") {
		t.Errorf("Commit: error = %v, want one that leaves it open", err)
	}
	wantCommitted(t, opened(t, server.url("runner", name)), "a", 10)
}

// A commit that finds no server waits for it, and takes no entry before it is there.
func TestServerComesBack(t *testing.T) {
	server := ownCluster(t)
	c := opened(t, server.url("runner", migrated(t, server)))
	run := sample("a")
	must(t, c.Create(t.Context(), run))
	must(t, server.stop(syscall.SIGINT))
	if err := c.Create(t.Context(), sample("b")); err == nil || !strings.Contains(err.Error(), "check that it runs") {
		t.Errorf("Create without a server: error = %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Commit(t.Context(), over(run), many(10)) }()
	select {
	case err := <-done:
		t.Fatalf("Commit without a server did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	must(t, server.start())
	must(t, <-done)
	wantCommitted(t, c, "a", 10)
}

// However the server ends in the middle of a commit, nothing of it is there, and the next try succeeds.
func TestServerRestarted(t *testing.T) {
	server := ownCluster(t)
	c := opened(t, server.url("runner", migrated(t, server)))
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		run := sample(fmt.Sprint("run-", i))
		must(t, c.Create(t.Context(), run))
		next, count := many(5000), 0
		err := c.Commit(t.Context(), over(run), func() (outputs.Entry, error) {
			if count++; count == 3000 {
				must(t, server.stop(signal))
				must(t, server.start())
			}
			return next()
		})
		if err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("Commit: error = %v, want one that says that the connection was lost", err)
		}
		wantOpen(t, c, run.ID)
		must(t, c.Commit(t.Context(), over(run), many(5000)))
		wantCommitted(t, c, run.ID, 5000)
	}
}

// Committers that retry lose nothing and write nothing twice while the server restarts.
func TestServerRestartedAmongCommitters(t *testing.T) {
	const committers, each = 6, 8
	server := ownCluster(t)
	url := server.url("runner", migrated(t, server))
	c := opened(t, url)
	var wg sync.WaitGroup
	errs := make([]error, committers)
	for i := range committers {
		wg.Go(func() { errs[i] = commitStubbornly(t, c, fmt.Sprint("run-", i), each) })
	}
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGINT, syscall.SIGQUIT} {
		must(t, server.stop(signal))
		must(t, server.start())
		time.Sleep(50 * time.Millisecond) // some commits in between
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	for i := range committers {
		for j := range each {
			wantCommitted(t, c, fmt.Sprintf("run-%d-%d", i, j), 200)
		}
	}
}

func commitStubbornly(t *testing.T, c *Catalog, name string, n int) error {
	for j := range n {
		run := sample(fmt.Sprintf("%s-%d", name, j))
		err := tryAgain(func() error {
			err := c.Create(t.Context(), run)
			if errors.Is(err, catalog.ErrExists) { // its reply was lost
				return nil
			}
			return err
		})
		if err == nil {
			err = tryAgain(func() error { return c.Commit(t.Context(), over(run), many(200)) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func tryAgain(do func() error) (err error) {
	for range 500 {
		if err = do(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
