package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// errRolledBack undoes a transaction.
var errRolledBack = errors.New("rolled back")

// bySQL calls submit as an orchestrator does, as the role of runs, and undoes it if then is an error.
func (q *queued) bySQL(request string, then error) (id string, err error) {
	q.Helper()
	err = q.catalog.Within(q.Context(), func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT scidex_oci.submit($1::jsonb, 1)`, request).Scan(&id); err != nil {
			return err
		}
		return then
	})
	return id, err
}

// rows is what the tables have of an analysis but for its id, times, who has written it, and the digest that only
// --unique needs: run, labels and job.
func (q *queued) rows(id string) (all string) {
	q.Helper()
	err := q.catalog.Reading(q.Context(), func(tx pgx.Tx) error {
		return tx.QueryRow(q.Context(), `SELECT coalesce((SELECT jsonb_agg(to_jsonb(r) - 'id' - 'created_at' - 'tool_version' || jsonb_build_object('request', r.request::jsonb - 'id'))
				FROM scidex_oci.analysis_run r WHERE r.id = $1)::text, 'no run')
			|| coalesce((SELECT jsonb_agg(to_jsonb(l) - 'id' ORDER BY key) FROM scidex_oci.run_label l WHERE l.id = $1)::text, 'no label')
			|| coalesce((SELECT jsonb_agg((to_jsonb(j) - 'id' - 'created_at' - 'scheduled_at') #- '{args,id}' #- '{args,request,id}' #- '{args,digest}')
				FROM scidex_oci.river_job j WHERE j.args ->> 'id' = $1)::text, 'no job')`, id).Scan(&all)
	})
	if err != nil {
		q.Fatal(err)
	}
	return all
}

// completes is a worker that completes every job.
func completes(ctx context.Context, c queue.Claim) error {
	run, err := began(ctx, c)
	if err == nil {
		err = over(ctx, c, run, outcome.Complete, queue.Finish)
	}
	return err
}

// submit in SQL writes exactly what the program writes with River's own insert, and nothing before the commit.
func TestSubmitBySQL(t *testing.T) {
	q := newQueued(t)
	const request = `{"command": ["true"], "labels": {"k": "v", "empty": ""}, "memory": "64MiB"}`
	_, err := q.bySQL(request[:1]+`"id": "a", `+request[1:], errRolledBack)
	if none := "no runno labelno job"; !errors.Is(err, errRolledBack) || q.rows("a") != none {
		t.Errorf("after a rollback: %v, %s", err, q.rows("a"))
	}
	id, err := q.bySQL(request[:1]+`"id": "a", `+request[1:], nil)
	if err != nil || id != "a" {
		t.Fatalf("%q, %v", id, err)
	}
	_, err = q.Submit(t.Context(), []queue.Submission{{Retries: 1, Run: catalog.Run{
		Key: catalog.Key{ID: "b", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now(),
		Labels: map[string]string{"k": "v", "empty": ""}, Request: json.RawMessage(request),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if bySQL, byUs := q.rows("a"), q.rows("b"); bySQL != byUs {
		t.Errorf("submit has written\n%s\nand the program\n%s", bySQL, byUs)
	}
	made, err := q.bySQL(`{"command": ["true"]}`, nil)
	run, lost := q.catalog.Get(t.Context(), catalog.Key{ID: made})
	if err != nil || lost != nil || len(made) != len("20261122T010203-1a2b3c4d") || !strings.Contains(string(run.Request), made) || time.Since(run.CreatedAt) > time.Hour {
		t.Errorf("without an id it made %q: %+v, %v, %v", made, run, err, lost)
	}
	q.work(completes)
	q.want("a", queue.Ended, outcome.Complete)
	q.want(made, queue.Ended, outcome.Complete)
}

// A worker is notified as by River's own insert.
func TestSubmitNotifies(t *testing.T) {
	q := newQueued(t)
	connections, err := q.catalog.Connections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connections.Close()
	listening, err := connections.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Release()
	if _, err := listening.Exec(t.Context(), `LISTEN "scidex_oci.river_insert"`); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		heard, err := listening.Conn().WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return heard.Channel + " " + heard.Payload
	}
	q.submit("a")
	byRiver := told()
	if _, err := q.bySQL(`{"id": "b", "command": ["true"]}`, nil); err != nil {
		t.Fatal(err)
	}
	if bySQL := told(); bySQL != byRiver {
		t.Errorf("submit says %q, River %q", bySQL, byRiver)
	}
}

// An invalid submission is refused with a code that a caller can recognise, and with advice.
func TestSubmitRefuses(t *testing.T) {
	q := newQueued(t)
	err := q.catalog.Within(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT scidex_oci.submit('{}', -1)`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "retries are -1") {
		t.Errorf("with -1 retries: %v", err)
	}
	q.submit("queued")
	for _, state := range []string{"running", "complete", "failed", "error", "lost", "canceled"} {
		q.execute(`INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, host, boot_id, tool_version) VALUES ($1, 1, $1, now(), '', '', '')`, state)
	}
	const taken, bad = "23505", "22023"
	for request, want := range map[string][]string{
		`{"id": "queued"}`:     {taken, "attempt 1 is queued", "queue cancel queued"},
		`{"id": "running"}`:    {taken, "attempt 1 is running"},
		`{"id": "complete"}`:   {taken, "is complete"},
		`{"id": "failed"}`:     {taken, "is failed"},
		`{"id": "../a"}`:       {bad, `"../a"`, "128 letters"},
		`{"id": ".a"}`:         {bad, `".a"`},
		`{"id": "a\n"}`:        {bad, "not allowed"},
		`{"id": ""}`:           {bad, "not allowed"},
		`{"id": 7}`:            {bad, "not allowed"},
		`{"id": "é"}`:          {bad, "not allowed"},
		`{"labels": {"k": 1}}`: {bad, "labels"},
		`{"labels": ["k"]}`:    {bad, "labels"},
		`[]`:                   {bad, "not a JSON object"},
		`{"id": "` + fmt.Sprintf("%0129d", 0) + `"}`: {bad, "not allowed"},
	} {
		_, err := q.bySQL(request, nil)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != want[0] {
			t.Errorf("%s: %v, want the code %s", request, err, want[0])
			continue
		}
		for _, text := range want[1:] {
			if !strings.Contains(refused.Message+"; "+refused.Hint, text) {
				t.Errorf("%s: %q and %q do not say %q", request, refused.Message, refused.Hint, text)
			}
		}
	}
	for _, state := range []string{"error", "lost", "canceled"} {
		if _, err := q.bySQL(`{"id": "`+state+`"}`, nil); err != nil {
			t.Errorf("after an attempt that is %s: %v", state, err)
		}
		q.want(state, queue.Waiting, outcome.State(state), outcome.Queued)
	}
}

// If two transactions submit one id at the same moment, the second waits and is refused.
func TestSubmitAtTheSameMoment(t *testing.T) {
	q := newQueued(t)
	held, let, ended := make(chan bool), make(chan bool), make(chan error, 2)
	enqueue := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT scidex_oci.submit('{"id": "a"}')`)
		return err
	}
	go func() {
		ended <- q.catalog.Within(context.WithoutCancel(t.Context()), func(ctx context.Context, tx pgx.Tx) error {
			err := enqueue(ctx, tx)
			close(held)
			<-let
			return err
		})
	}()
	<-held
	second := make(chan error)
	other := opening(t, q.url)
	go func() { second <- other.Within(context.WithoutCancel(t.Context()), enqueue) }()
	q.waitsForALock()
	close(let)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-second; err == nil || !strings.Contains(err.Error(), "at the same moment") {
		t.Errorf("the second: %v", err)
	}
}

// waitsForALock waits until somebody in this database waits for another's transaction.
func (q *queued) waitsForALock() {
	q.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var waits bool
		err := q.catalog.Reading(q.Context(), func(tx pgx.Tx) error {
			return tx.QueryRow(q.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits)
		})
		if err != nil {
			q.Fatal(err)
		}
		if waits {
			return
		}
	}
	q.Fatal("nobody waits")
}

// submit reports that the queue has no tables yet, or that the role is not in scidex_run.
func TestSubmitWithoutTablesOrRole(t *testing.T) {
	roles := postgres.Fresh(t)
	call := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT scidex_oci.submit('{"command": ["true"]}')`)
		return err
	}
	c := opening(t, roles.Admin)
	if err := c.Within(t.Context(), call); err == nil || !strings.Contains(err.Error(), "the tables of the queue are not there") {
		t.Errorf("without a queue: %v", err)
	}
	if err := opening(t, roles.Runner).Within(t.Context(), call); err == nil || !strings.Contains(err.Error(), "the tables of the queue are not there") {
		t.Errorf("without a queue, as who runs: %v", err)
	}
	roles.Execute(`DO $$ BEGIN IF has_function_privilege('stranger', 'scidex_oci.submit(jsonb, integer)', 'EXECUTE') THEN RAISE 'a stranger may submit'; END IF; END $$`)
}

// analysis is a job as a client of River's own that only inserts writes it (docs/queue-sql.md).
type analysis struct {
	V       int             `json:"v"`
	ID      string          `json:"id"`
	Request json.RawMessage `json:"request"`
}

func (analysis) Kind() string { return "scidex_analysis" }

// So does a client of River's own in Go that only inserts, next to the row.
func TestSubmitByRiver(t *testing.T) {
	q := newQueued(t)
	request := json.RawMessage(`{"id": "a", "command": ["true"]}`)
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: "scidex_oci"})
	if err != nil {
		t.Fatal(err)
	}
	err = q.catalog.Within(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.analysis_run (id, attempt, state, created_at, request, host, boot_id, tool_version)
			VALUES ('a', 1, 'queued', now(), $1::json, '', '', '')`, string(request))
		if err != nil {
			return err
		}
		_, err = client.InsertTx(ctx, tx, analysis{1, "a", request}, &river.InsertOpts{Queue: "analyses"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	q.work(completes)
	q.want("a", queue.Ended, outcome.Complete)
}
