package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Changes names, with both values, the fields in which a request differs from the recorded one of a run, and the script
// if its content differs from the kept one. Labels are no part of what is requested. What a request leaves open is compared with today's defaults; the kind of
// ids, which a host chooses, only if requested.
func Changes(run catalog.Run, a spec.Analysis) ([]string, error) {
	now, err := complete(a)
	if err != nil {
		return nil, err
	}
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	raw, err := json.Marshal(now)
	if err = errors.Join(err, json.Unmarshal(raw, &is), json.Unmarshal(run.Request, &was)); err != nil {
		return nil, fmt.Errorf("recorded request of %q: %w", run.ID, err)
	}
	if a.IDs == "" {
		delete(was, "ids")
	}
	delete(was, "warm") // earlier programs recorded it; it changed nothing
	delete(was, "labels")
	delete(is, "labels")
	all := maps.Clone(was)
	maps.Copy(all, is)
	var changes []string
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(was[field], is[field]) {
			changes = append(changes, fmt.Sprintf("%s was %s and is %s", field, shown(was[field]), shown(is[field])))
		}
	}
	if was["script"] == nil || !bytes.Equal(was["script"], is["script"]) {
		return changes, nil
	}
	same, err := sameScript(run, now.Script)
	if !same && err == nil {
		changes = append(changes, fmt.Sprintf("the content of %s has changed", now.Script))
	}
	return changes, err
}

// shownMax is how much of a value a message shows, in bytes.
const shownMax = 200

// shown is a value for a message.
func shown(value json.RawMessage) string {
	switch {
	case value == nil:
		return "not given"
	case len(value) > shownMax:
		return fmt.Sprintf("%.*s... (%s)", shownMax, value, format.Size(int64(len(value))))
	}
	return string(value)
}

// sameScript reports whether a script is what a run has kept; true for a removed one.
func sameScript(run catalog.Run, path string) (bool, error) {
	res, err := result.New(run)
	if err != nil || res.Script == nil || res.Script.SHA256 == "" {
		return true, err
	}
	f, err := userdir.ReadAny(path) // by now it may be a FIFO
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, inputs.ScriptMax)); err != nil {
		return false, err
	}
	return hex.EncodeToString(hash.Sum(nil)) == res.Script.SHA256, nil
}
