package statement

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// testKey signs with a key that the seed makes.
type testKey struct{ private ed25519.PrivateKey }

func newTestKey(seed byte) testKey {
	return testKey{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

func (k testKey) Public() PublicKey { return PublicOf(k.private) }

func (k testKey) Sign(_ context.Context, message []byte) ([]byte, error) {
	return ed25519.Sign(k.private, message), nil
}

// sample is a result and its outputs, as a run commits them.
func sample(t testing.TB) (result []byte, outputs []Output) {
	t.Helper()
	result, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Outputs []struct {
			Path    string `json:"path"`
			PathB64 string `json:"path_b64"`
			Size    int64  `json:"size"`
			SHA256  string `json:"sha256"`
			Mode    string `json:"mode"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outputs {
		outputs = append(outputs, Output{o.Path, o.PathB64, o.Size, o.SHA256, o.Mode})
	}
	return result, outputs
}

func signed(t testing.TB, with Signer) (file, result []byte) {
	t.Helper()
	result, outputs := sample(t)
	file, err := Sign(t.Context(), with, result, outputs)
	if err != nil {
		t.Fatal(err)
	}
	return file, result
}

// verify is what a verifier does without the files.
func verify(file, result []byte, keys ...PublicKey) error {
	s, err := Verify(file, keys)
	if err != nil {
		return err
	}
	return s.Check(result)
}

func TestSignedIsVerified(t *testing.T) {
	key := newTestKey(1)
	file, result := signed(t, key)
	if err := verify(file, result, newTestKey(2).Public(), key.Public()); err != nil {
		t.Fatal(err)
	}
	again, _ := signed(t, key)
	if !bytes.Equal(file, again) {
		t.Error("the same run is signed differently")
	}
	none, err := Sign(t.Context(), key, bytes.ReplaceAll(emptied(t, result), []byte("\n"), nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Verify(none, []PublicKey{key.Public()}); err != nil || len(s.Outputs()) != 0 || s.ResultDigest() == "" {
		t.Errorf("without outputs: %v", err)
	}
}

// emptied is a result without outputs.
func emptied(t *testing.T, result []byte) []byte {
	t.Helper()
	var r map[string]json.RawMessage
	if err := json.Unmarshal(result, &r); err != nil {
		t.Fatal(err)
	}
	r["outputs"], r["outputs_total"] = json.RawMessage("[]"), json.RawMessage("0")
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// changes calls try with value after each change of one leaf, name or element in it.
func changes(value any, path string, try func(path string)) {
	switch value := value.(type) {
	case object:
		for name, inner := range value {
			replaced(func(v any) { value[name] = v }, inner, below(path, name), try)
			delete(value, name)
			try(below(path, name) + " removed")
			value[name+"X"] = inner
			try(below(path, name) + " renamed")
			delete(value, name+"X")
			value[strings.ToUpper(name)] = inner
			if strings.ToUpper(name) != name {
				try(below(path, name) + " in capitals")
				delete(value, strings.ToUpper(name))
			}
			value[name] = inner
		}
		value["added"] = true
		try(path + " with another name")
		delete(value, "added")
	case []any:
		for i, inner := range value {
			replaced(func(v any) { value[i] = v }, inner, at(path, i), try)
		}
	}
}

func replaced(set func(any), inner any, path string, try func(path string)) {
	if leaf, ok := other(inner); ok {
		set(leaf)
		try(path)
		set(inner)
	}
	set([]any{inner})
	try(path + " in a list")
	set(inner)
	changes(inner, path, try)
}

// other is a leaf with another value.
func other(leaf any) (any, bool) {
	switch leaf := leaf.(type) {
	case string:
		return leaf + "x", true
	case json.Number:
		return json.Number("1" + leaf.String()), true
	case bool:
		return !leaf, true
	case nil:
		return "x", true
	}
	return nil, false
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// openLines decodes the envelopes of a file.
func openLines(t *testing.T, file []byte) (envelopes []object) {
	t.Helper()
	for line := range bytes.Lines(file) {
		e, err := parseObject(line)
		if err != nil {
			t.Fatal(err)
		}
		envelopes = append(envelopes, e)
	}
	return envelopes
}

func closeLines(t *testing.T, envelopes ...object) []byte {
	t.Helper()
	var file []byte
	for _, e := range envelopes {
		file = append(append(file, marshal(t, e)...), '\n')
	}
	return file
}

// TestEachFieldOfAnEnvelope: a change of any field of an envelope is found.
func TestEachFieldOfAnEnvelope(t *testing.T) {
	key := newTestKey(1)
	file, result := signed(t, key)
	tried := 0
	for i := range 2 {
		envelopes := openLines(t, file)
		changes(envelopes[i], "", func(path string) {
			tried++
			if verify(closeLines(t, envelopes...), result, key.Public()) == nil {
				t.Errorf("envelope %d: the change of %s is not found", i, path)
			}
		})
	}
	if tried < 30 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// TestEachFieldOfAPayload: a change of any field of a statement is found, also if it is signed again by the same key,
// since it does not agree with the result.
func TestEachFieldOfAPayload(t *testing.T) {
	key := newTestKey(1)
	file, result := signed(t, key)
	for i := range 2 {
		tried := 0
		envelopes := openLines(t, file)
		payload, err := decodeBase64(envelopes[i]["payload"])
		if err != nil {
			t.Fatal(err)
		}
		made, err := parseObject(payload)
		if err != nil {
			t.Fatal(err)
		}
		changes(made, "", func(path string) {
			tried++
			changed := marshal(t, made)
			envelopes[i]["payload"] = base64.StdEncoding.EncodeToString(changed)
			if verify(closeLines(t, envelopes...), result, key.Public()) == nil {
				t.Errorf("statement %d: the change of %s is not found", i, path)
			}
			lines := bytes.SplitAfter(bytes.Clone(file), []byte("\n"))
			if lines[i], err = signOne(t.Context(), key, changed); err != nil {
				t.Fatal(err)
			}
			if verify(bytes.Join(lines, nil), result, key.Public()) == nil {
				t.Errorf("statement %d: the change of %s, signed again, is not found", i, path)
			}
		})
		if tried < 200 {
			t.Errorf("statement %d: only %d changes were tried", i, tried)
		}
	}
}

// TestEachFieldOfAResult: a change of any field of the result is found.
func TestEachFieldOfAResult(t *testing.T) {
	key := newTestKey(1)
	file, result := signed(t, key)
	r, err := parseObject(result)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	changes(r, "", func(path string) {
		tried++
		if verify(file, marshal(t, r), key.Public()) == nil {
			t.Errorf("the change of %s is not found", path)
		}
	})
	if tried < 200 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// TestForged: statements that a lenient reader would take.
func TestForged(t *testing.T) {
	key, others := newTestKey(1), newTestKey(2)
	file, result := signed(t, key)
	foreign, _ := signed(t, others)
	lines, theirs := bytes.SplitAfter(file, []byte("\n")), bytes.SplitAfter(foreign, []byte("\n"))
	first := openLines(t, file)[0]
	payload := text(first["payload"])
	sig := first["signatures"].([]any)[0].(object) //nolint:forcetypeassert // Sign wrote it
	edit := func(from, to string) []byte { return bytes.Replace(bytes.Clone(file), []byte(from), []byte(to), 1) }
	withSignatures := func(all ...any) []byte {
		return append(append(marshal(t, object{"payload": payload, "payloadType": PayloadType, "signatures": all}), '\n'), lines[1]...)
	}
	theirSig := openLines(t, foreign)[0]["signatures"].([]any)[0].(object) //nolint:forcetypeassert // the same
	resigned := func(payload string) []byte {
		line, err := signOne(t.Context(), key, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		return append(line, lines[1]...)
	}
	plain, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	within := func(from, to string) []byte { return resigned(strings.Replace(string(plain), from, to, 1)) }
	urlSafe := base64.URLEncoding.EncodeToString(append([]byte(strings.Repeat("\xff", 3)), plain...))
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                    {nil, "lines"},
		"one line":                 {lines[0], "lines"},
		"a third line":             {append(bytes.Clone(file), lines[0]...), "lines"},
		"a blank line":             {append(bytes.Clone(file), '\n'), "lines"},
		"no last newline":          {bytes.TrimSuffix(file, []byte("\n")), "lines"},
		"lines exchanged":          {append(bytes.Clone(lines[1]), lines[0]...), "predicateType"},
		"a line twice":             {append(bytes.Clone(lines[0]), lines[0]...), "predicateType"},
		"a line of another key":    {append(bytes.Clone(lines[0]), theirs[1]...), "which was not given"},
		"another key's":            {foreign, "which was not given"},
		"key id of another":        {withSignatures(object{"keyid": others.Public().ID(), "sig": sig["sig"]}), "was changed"},
		"key id unknown":           {withSignatures(object{"keyid": "abc", "sig": sig["sig"]}), "which was not given"},
		"key id empty":             {withSignatures(object{"keyid": "", "sig": sig["sig"]}), "which was not given"},
		"their signature, our id":  {withSignatures(object{"keyid": sig["keyid"], "sig": theirSig["sig"]}), "was changed"},
		"signature empty":          {withSignatures(object{"keyid": sig["keyid"], "sig": ""}), "was changed"},
		"signature too short":      {withSignatures(object{"keyid": sig["keyid"], "sig": "AAAA"}), "was changed"},
		"no signature":             {withSignatures(), "signatures: it has none"},
		"a wrong one besides":      {withSignatures(sig, object{"keyid": others.Public().ID(), "sig": sig["sig"]}), "was changed"},
		"a wrong one before":       {withSignatures(object{"keyid": others.Public().ID(), "sig": sig["sig"]}, sig), "was changed"},
		"one of a stranger":        {withSignatures(sig, object{"keyid": "abc", "sig": sig["sig"]}), "which was not given"},
		"the same twice":           {withSignatures(sig, sig), "second"},
		"name twice":               {edit(`{"payload":`, `{"payload":"AAAA","payload":`), "twice"},
		"name in capitals besides": {edit(`{"payload":`, `{"Payload":"AAAA","payload":`), "Payload is not expected"},
		"name in capitals":         {edit(`{"payload":`, `{"PAYLOAD":`), "payload"},
		"signatures twice":         {edit(`"signatures":`, `"signatures":[],"signatures":`), "twice"},
		"sig twice":                {edit(`"sig":`, `"sig":"","sig":`), "twice"},
		"payloadType":              {edit("vnd.in-toto+json", "vnd.in-toto"), "payloadType"},
		"payloadType in capitals":  {edit("vnd.in-toto+json", "vnd.in-toto+JSON"), "payloadType"},
		"base64 url-safe":          {append(append(marshal(t, object{"payload": urlSafe, "payloadType": PayloadType, "signatures": []any{sig}}), '\n'), lines[1]...), "base64"},
		"base64 with a space":      {edit(payload[:9], payload[:8]+" "+payload[8:9]), "base64"},
		"base64 with a line break": {edit(payload[:9], payload[:8]+`\n`+payload[8:9]), "base64"},
		"base64 without padding":   {edit(sig["sig"].(string), strings.TrimRight(sig["sig"].(string), "=")), "base64"}, //nolint:forcetypeassert // the same
		"not UTF-8":                {edit(`"keyid":"`, "\"keyid\":\"\xff"), "UTF-8"},
		"surrogate":                {edit(`"keyid":"`, `"keyid":"\ud800`), "surrogate"},
		"text after it":            {edit("}\n", "}{}\n"), "not one JSON value"},
		"comma after it":           {edit("}]}\n", "}],}\n"), "not one JSON value"},
		"no object":                {append([]byte("[]\n"), lines[1]...), "no JSON object"},

		"payload: name twice":        {within(`{"_type"`, `{"predicateType":"x","_type"`), "twice"},
		"payload: inner name twice":  {within(`"digest":{`, `"digest":{"sha256":"00",`), "twice"},
		"payload: name in capitals":  {within(`"subject":`, `"Subject":[],"subject":`), "Subject is not expected"},
		"payload: text after it":     {resigned(string(plain) + "{}"), "not one JSON value"},
		"payload: not UTF-8":         {within(`"name":"`, "\"name\":\"\xc3"), "UTF-8"},
		"payload: number as decimal": {within(`"size":2`, `"size":2.0`), "subject[0]"},
		"payload: another number":    {within(`"pids":100`, `"pids":100.0`), "externalParameters.pids is 100.0"},
		"payload: number as text":    {within(`"size":`, `"size":"5","was":`), "subject[0]"},
		"payload: number with sign":  {within(`"size":`, `"size":-`), "subject[0]"},
		"payload: subject twice":     {within(`"subject":[{`, `"subject":[`+firstSubject(t, plain)+`,{`), "subject"},
		"payload: other type":        {within("Statement/v1", "Statement/v0.1"), "_type"},
		"payload: no statement":      {resigned("{}"), "is null"},
		"payload: not JSON":          {resigned("x"), "payload"},
	} {
		if bytes.Equal(c.file, file) {
			t.Errorf("%s: nothing was changed", name)
		}
		err := verify(c.file, result, key.Public(), others.Public())
		if strings.Contains(c.want, "not given") {
			err = verify(c.file, result, key.Public())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func firstSubject(t *testing.T, payload []byte) string {
	t.Helper()
	made, err := parseObject(payload)
	if err != nil {
		t.Fatal(err)
	}
	return string(marshal(t, made["subject"].([]any)[0])) //nolint:forcetypeassert // Sign wrote it
}

// TestSwapped: the statement of one run does not fit another, though the same key signed both.
func TestSwapped(t *testing.T) {
	key := newTestKey(1)
	file, result := signed(t, key)
	_, outputs := sample(t)
	another := bytes.Replace(bytes.Clone(result), []byte(`"id": "`), []byte(`"id": "x`), 1)
	theirs, err := Sign(t.Context(), key, another, outputs)
	if err != nil {
		t.Fatal(err)
	}
	lines, others := bytes.SplitAfter(file, []byte("\n")), bytes.SplitAfter(theirs, []byte("\n"))
	for name, c := range map[string]struct{ file, result []byte }{
		"both lines":      {theirs, result},
		"the first line":  {append(bytes.Clone(others[0]), lines[1]...), result},
		"the second line": {append(bytes.Clone(lines[0]), others[1]...), result},
		"the result":      {file, another},
	} {
		if err := verify(c.file, c.result, key.Public()); err == nil {
			t.Errorf("%s of another run: not found", name)
		}
	}
	if err := verify(theirs, another, key.Public()); err != nil {
		t.Errorf("the other run itself: %v", err)
	}
}

// wrongKey signs with another key than it states.
type wrongKey struct{ testKey }

func (wrongKey) Public() PublicKey { return newTestKey(9).Public() }

func TestSignRefuses(t *testing.T) {
	result, outputs := sample(t)
	if _, err := Sign(t.Context(), wrongKey{newTestKey(1)}, result, outputs); err == nil || !strings.Contains(err.Error(), "not of the public key") {
		t.Errorf("a signature of another key: %v", err)
	}
	if _, err := Sign(t.Context(), newTestKey(1), []byte(`{"a":1,"a":2}`), nil); err == nil {
		t.Error("a result with a name twice was signed")
	}
}

// TestPAE: the example of the specification (DSSE, protocol.md).
func TestPAE(t *testing.T) {
	if got := string(PAE("http://example.com/HelloWorld", []byte("hello world"))); got != "DSSEv1 29 http://example.com/HelloWorld 11 hello world" {
		t.Errorf("%q", got)
	}
}

// TestKeys: the examples of RFC 8410, section 10.
func TestKeys(t *testing.T) {
	private := []byte("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n")
	public := []byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n")
	key, err := ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if got := PublicOf(key).PEM(); !bytes.Equal(got, public) {
		t.Errorf("public key:\n%s", got)
	}
	if got := PrivatePEM(key); !bytes.Equal(got, private) {
		t.Error("the private key is written in another form")
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"private": {private, "it is the private key"},
		"empty":   {nil, "has no block"},
		"two":     {append(bytes.Clone(public), public...), "more than one"},
		"RSA":     {[]byte("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n"), "RSA PUBLIC KEY"},
		"other":   {[]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), "no Ed25519 key"},
	} {
		if _, err := ParsePublicKey(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := ParsePrivateKey(public); err == nil {
		t.Error("a public key was taken for a private one")
	}
}

// FuzzParse: what is parsed is what encoding/json reads, and has each name once.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":{"b":[1,2,{"c":null}]}}`, `"\ud800"`, `"\\ud800"`, "[1e999]", "{}{}", "\"\xff\"", "[1,]", `{"a":1}x`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := parse(data)
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q: encoding/json: %v", data, err)
		}
		if err := difference("", value, want); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if count(value) != bytes.Count(canonical(t, value), []byte{':'})-colons(value) {
			t.Errorf("%q: names were lost", data)
		}
	})
}

// count is the number of names in a value.
func count(value any) (n int) {
	switch value := value.(type) {
	case object:
		for _, inner := range value {
			n += 1 + count(inner)
		}
	case []any:
		for _, inner := range value {
			n += count(inner)
		}
	}
	return n
}

// colons is the number of colons in names and strings.
func colons(value any) (n int) {
	switch value := value.(type) {
	case object:
		for name, inner := range value {
			n += strings.Count(name, ":") + colons(inner)
		}
	case []any:
		for _, inner := range value {
			n += colons(inner)
		}
	case string:
		n = strings.Count(value, ":")
	}
	return n
}

func canonical(t *testing.T, value any) []byte { return marshal(t, value) }

// FuzzVerify: no file but the signed one is verified.
func FuzzVerify(f *testing.F) {
	key := newTestKey(1)
	file, result := signed(f, key)
	f.Add(file)
	f.Add(bytes.Replace(file, []byte(`{"payload":`), []byte(`{"payload":"","payload":`), 1))
	f.Fuzz(func(t *testing.T, other []byte) {
		if err := verify(other, result, key.Public()); err == nil && !sameEnvelopes(other, file) {
			t.Errorf("%q is verified", other)
		}
	})
}

// sameEnvelopes reports whether two files differ only in white space between tokens and in how characters are escaped.
func sameEnvelopes(a, b []byte) bool {
	read := func(file []byte) string {
		var all []any
		for line := range bytes.Lines(file) {
			value, err := parse(line)
			if err != nil {
				return err.Error()
			}
			all = append(all, value)
		}
		return fmt.Sprint(all)
	}
	return read(a) == read(b)
}
