package stores

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers/remote"
	"github.com/scidex-ai/scidex-oci/outputs/blob/s3"
)

// globals are the global options of a command line in the directory /here.
func globals(values map[string]string) *options.Global {
	text := func(name string) options.Text {
		value, ok := values[name]
		if !ok {
			return options.Text{}
		}
		return options.Text{Value: value, Values: []string{value}, Given: true, Label: "--" + name, Dir: "/here"}
	}
	return &options.Global{
		Root: text("root"), DB: text("db"), Blobs: text("blobs"), Tmp: text("tmp"), LogLevel: text("log-level"), LogFormat: text("log-format"),
	}
}

// lookupIn finds variables in a map.
func lookupIn(values map[string]string) options.Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// Nothing of a password is shown, also where it was not escaped and so read as something else.
func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"catalog.db":                         "catalog.db",
		"postgres://u:secret@h:1/d":          "postgres://u:xxxxx@h:1/d",
		"postgres://u:12/secret@h/d":         "***",
		"postgres://u:12?secret@h/d":         "***",
		"postgres://u:12#secret@h/d":         "***",
		"s3://bucket/a?endpoint=http://h":    "s3://bucket/a?xxxxx",
		"s3://AKIA:secret/bucket":            "***",
		"s3://AKIA:12/secret/bucket":         "***",
		"s3://AKIA:12/secret@bucket":         "***",
		"s3://AKIA:secret/and/more@bucket/a": "***",
	} {
		if got := redacted(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	env := lookupIn(map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/xdg"})
	tests := []struct {
		flags map[string]string
		want  Settings
	}{
		{map[string]string{"root": "r"}, Settings{"/here/r", "/tmp", blobLocation{dir: "/here/r/blobs"}, database{file: "/here/r/catalog.db"}, slog.LevelWarn, false}},
		{
			map[string]string{"root": "/r", "db": "sqlite:///c.db", "blobs": "file://b", "tmp": "/var/tmp", "log-level": "debug", "log-format": "json"},
			Settings{"/r", "/var/tmp", blobLocation{dir: "/here/b"}, database{file: "/c.db"}, slog.LevelDebug, true},
		},
		{
			map[string]string{"root": "/r", "blobs": "s3://bucket/a?endpoint=http://h"},
			Settings{
				"/r", "/tmp",
				blobLocation{"/r/staging/072a63ddb7835467", remote.Bucket{Location: s3.Location{Bucket: "bucket", Prefix: "a", Endpoint: "http://h"}}},
				database{file: "/r/catalog.db"},
				slog.LevelWarn, false,
			},
		},
		{
			map[string]string{"root": "/r", "db": "postgres://u:p@h/d"},
			Settings{"/r", "/tmp", blobLocation{dir: "/r/blobs"}, database{url: "postgres://u:p@h/d", driver: remote.Postgres{}}, slog.LevelWarn, false},
		},
	}
	for _, test := range tests {
		if got, err := ReadSettings(globals(test.flags), env); err != nil || got != test.want {
			t.Errorf("%v: %+v, %v, want %+v", test.flags, got, err, test.want)
		}
	}
}

// TestKindsHaveDrivers: a kind on another host without a driver would be a nil that is called.
func TestKindsHaveDrivers(t *testing.T) {
	all, err := drivers.Get()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range databases {
		if (all.Databases[k.scheme] == nil) != k.local {
			t.Errorf("database %s: local %v, driver %v", k.scheme, k.local, all.Databases[k.scheme])
		}
	}
	for _, k := range blobStores {
		if (all.Buckets[k.scheme] == nil) != k.local {
			t.Errorf("blob store %s: local %v, driver %v", k.scheme, k.local, all.Buckets[k.scheme] != nil)
		}
	}
}

func TestLogFormat(t *testing.T) {
	for format, want := range map[string]string{"text": "level=WARN msg=\"a b\"", "json": `"level":"WARN","msg":"a b"}`} {
		s, err := ReadSettings(globals(map[string]string{"root": "/r", "log-format": format}), lookupIn(nil))
		var to strings.Builder
		s.Logger(&to).Info("not this")
		s.Logger(&to).Warn("a b")
		if got := to.String(); err != nil || !strings.HasSuffix(got, want+"\n") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, %v", format, got, err)
		}
	}
	if _, err := ReadSettings(globals(map[string]string{"root": "/r", "log-format": "xml"}), lookupIn(nil)); err == nil || !strings.Contains(err.Error(), `"xml": give text or json`) {
		t.Errorf("xml: %v", err)
	}
}

func TestDefaultRoot(t *testing.T) {
	tests := []struct {
		uid  int
		env  map[string]string
		want string
	}{
		{0, map[string]string{"HOME": "/root", "XDG_DATA_HOME": "/xdg"}, "/var/lib/scidex-oci"},
		{1000, map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/xdg"}, "/xdg/scidex-oci"},
		{1000, map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "relative"}, "/home/u/.local/share/scidex-oci"},
		{1000, nil, ""},
	}
	for _, test := range tests {
		got, err := defaultRoot(test.uid, lookupIn(test.env))
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("uid %d, %v: %q, %v", test.uid, test.env, got, err)
		}
	}
}

func TestBadURLsShowNoSecret(t *testing.T) {
	const secret = "hunter2"
	for _, url := range []string{
		"postgres://user:hunter2@host:x/db", "postgresql://host/db?password=hunter2&sslmode=x", "postgres://user:hun/hunter2@host/db",
		"user:hunter2@host/db", "host=h password=hunter2", "mysql://u:hunter2@h/", "postgres://host/db#hunter2", "postgres:hunter2",
		"s3://key:hunter2@bucket",
	} {
		for _, flag := range []string{"db", "blobs"} {
			_, err := ReadSettings(globals(map[string]string{"root": "/r", flag: url}), lookupIn(nil))
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("--%s %s: %v", flag, url, err)
			}
		}
	}
	_, err := ReadSettings(globals(map[string]string{"root": "/r", "db": "foo.db"}), lookupIn(nil))
	if want := `--db "foo.db": give sqlite://PATH or postgres://USER@HOST:PORT/DATABASE`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
