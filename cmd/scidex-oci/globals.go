package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// settings are the global flags, worked out. All paths are absolute.
type settings struct {
	root, tmp string
	blobs     blobPlace
	db        database
	level     slog.Level
	logJSON   bool
}

// logTo makes the log that writes to w.
func (s settings) logTo(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.level}
	if s.logJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// settingsOf works the global flags out. It touches nothing.
func settingsOf(g *options.Global, env lookup) (settings, error) {
	s := settings{tmp: g.Tmp.Path("/tmp")}
	var err error
	if s.root = g.Root.Path(""); s.root == "" {
		if s.root, err = defaultRoot(os.Geteuid(), env); err != nil {
			return s, err
		}
	}
	if s.db, err = databaseFor(g.DB, s.root); err != nil {
		return s, err
	}
	if s.blobs, err = blobsFor(g.Blobs, s.root); err != nil {
		return s, err
	}
	if s.level, err = level(g.LogLevel); err != nil {
		return s, err
	}
	if s.logJSON = g.LogFormat.Value == "json"; !s.logJSON && g.LogFormat.Or("text") != "text" {
		err = g.LogFormat.Refuse("give text or json")
	}
	return s, err
}

// defaultRoot follows the XDG base directory specification: a relative XDG_DATA_HOME is ignored.
func defaultRoot(uid int, env lookup) (string, error) {
	if uid == 0 {
		return "/var/lib/scidex-oci", nil
	}
	if dir := env.Text("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "scidex-oci"), nil
	}
	if home := env.Text("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "scidex-oci"), nil
	}
	return "", fmt.Errorf("no place for catalog and blobs: HOME is not set; give --root DIR or set SCIDEX_OCI_ROOT")
}

// redacted is a URL without what may be secret: the password and the query. A plain file name is shown;
// of anything else that is no URL all may be secret.
func redacted(given string) string {
	if !strings.ContainsAny(given, ":@?=") {
		return given
	}
	u, err := url.Parse(given)
	if err != nil || u.Opaque != "" || u.Scheme == "" || secretBehind(u) {
		return "***"
	}
	if _, set := u.User.Password(); set {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	if u.RawQuery != "" {
		u.RawQuery = "xxxxx"
	}
	u.Fragment = ""
	return u.String()
}

// secretBehind reports whether what was read as host, path, query or fragment may be a password that was not escaped.
func secretBehind(u *url.URL) bool {
	return strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") || u.Scheme == "s3" && strings.Contains(u.Host, ":")
}

func level(t options.Text) (slog.Level, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	if !t.Given {
		return slog.LevelWarn, nil
	}
	word, err := t.Choose("debug", "info", "warn", "error")
	return levels[word], err
}
