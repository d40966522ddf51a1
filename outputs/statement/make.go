package statement

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// The types of the two statements and of what they describe.
const (
	statementType   = "https://in-toto.io/Statement/v1"
	provenanceType  = "https://slsa.dev/provenance/v1"
	about           = "https://github.com/scidex-ai/scidex-oci/blob/main/docs/statement.md"
	enforcementType = about + "#enforcement-v1"
	buildType       = about + "#run-v1"
	builderID       = about + "#builder-v1"
)

// outputsDir is before the names of outputs, which the analysis chose.
const outputsDir = "outputs/"

// Output is an output of a run, as its result lists it.
type Output struct {
	Path    string
	PathB64 string // the exact bytes where Path is escaped, else empty
	Size    int64
	SHA256  string
	Mode    string
}

// payloads makes the two statements of the bytes of a result, and of all outputs. The same bytes make the same statements.
func payloads(res []byte, outputs []Output) (made [][]byte, err error) {
	all, err := statements(res, outputs)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		text, err := exactjson.Marshal(one)
		if err != nil {
			return nil, err
		}
		made = append(made, text)
	}
	return made, nil
}

// statements are the payloads as JSON values.
func statements(res []byte, outputs []Output) ([]object, error) {
	r, err := parseObject(res)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", result.File, err)
	}
	subjects := subjectsOf(res, outputs)
	return []object{
		{"_type": statementType, "subject": subjects, "predicateType": provenanceType, "predicate": provenance(r)},
		{"_type": statementType, "subject": subjects, "predicateType": enforcementType, "predicate": enforcement(r)},
	}, nil
}

// subjectsOf are the outputs, and the result: a run without outputs has that.
func subjectsOf(res []byte, outputs []Output) []any {
	subjects := make([]any, 0, len(outputs)+1)
	for _, o := range outputs {
		notes := object{"size": json.Number(strconv.FormatInt(o.Size, 10)), "mode": o.Mode}
		if o.PathB64 != "" {
			notes["path_b64"] = o.PathB64
		}
		subjects = append(subjects, object{"name": outputsDir + o.Path, "digest": sha256Of(o.SHA256), "annotations": notes})
	}
	sum := sha256.Sum256(res)
	return append(subjects, object{"name": result.File, "digest": sha256Of(hex.EncodeToString(sum[:]))})
}

func sha256Of(digest any) object { return object{"sha256": digest} }

// provenance is the predicate of SLSA v1 (https://slsa.dev/spec/v1.0/provenance).
func provenance(r object) object {
	metadata := object{"invocationId": text(r["id"]) + "@" + text(r["attempt"])}
	setGiven(metadata, "startedOn", r["started_at"])
	setGiven(metadata, "finishedOn", r["finished_at"])
	internal := object{"host": r["host"], "boot_id": r["boot_id"]}
	setGiven(internal, "action_id", r["action_id"])
	setGiven(internal, "start", r["start"])
	return object{
		"buildDefinition": object{
			"buildType":            buildType,
			"externalParameters":   orEmpty(r["analysis"]),
			"internalParameters":   internal,
			"resolvedDependencies": dependencies(r),
		},
		"runDetails": object{
			"builder":    object{"id": builderID, "version": object{"scidex-oci": r["tool_version"]}},
			"metadata":   metadata,
			"byproducts": logs(r),
		},
	}
}

// enforcement is scidex-oci's predicate: what held the run, and how it ended. Its parts are those of the result.
func enforcement(r object) object {
	return object{
		"run":       pick(r, "id", "attempt", "host", "boot_id", "tool_version"),
		"outcome":   pick(r, "state", "reason", "message", "exit_code", "signal"),
		"limits":    r["enforced"],
		"isolation": r["sandbox"],
		"hosts":     object{"asked": orEmptyList(inside(r, "analysis", "allow_hosts")), "requests": r["requests"]},
		"audit":     pick(r, "audit", "audit_total"),
		"usage":     r["usage"],
		"evidence":  r["evidence"],
		"rejected":  r["rejected_total"],
		"warnings":  orEmptyList(r["warnings"]),
	}
}

// pick is a part of an object; missing fields are null.
func pick(o object, names ...string) object {
	part := object{}
	for _, name := range names {
		part[name] = o[name]
	}
	return part
}

// inside is a value in nested objects, nil if it is missing.
func inside(o object, names ...string) any {
	var value any = o
	for _, name := range names {
		next, _ := value.(object)
		value = next[name]
	}
	return value
}

func setGiven(o object, name string, value any) {
	if value != nil {
		o[name] = value
	}
}

func orEmpty(value any) any {
	if value == nil {
		return object{}
	}
	return value
}

func orEmptyList(value any) any {
	if value == nil {
		return []any{}
	}
	return value
}

// text is a string, or a number as written.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return ""
}
