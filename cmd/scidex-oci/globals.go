package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "root", Usage: "keep catalog, blobs and locks in `DIR` (default: $XDG_DATA_HOME/scidex-oci or ~/.local/share/scidex-oci, for root /var/lib/scidex-oci)"},
		&cli.StringFlag{Name: "db", Usage: "use the catalog at `URL`, sqlite://PATH or postgres://USER@HOST:PORT/DATABASE (default: sqlite://ROOT/catalog.db)"},
		&cli.StringFlag{Name: "blobs", Usage: "use the blob store at `URL`, file://DIR or s3://BUCKET/PREFIX?endpoint=URL (default: file://ROOT/blobs); credentials, region and endpoint of S3 also by AWS_* and ~/.aws"},
		&cli.StringFlag{Name: "tmp", Usage: "make working directories in `DIR` (default: /tmp)"},
		&cli.StringFlag{Name: "log-level", Usage: "write messages of `LEVEL` debug, info, warn or error and above (default: warn)"},
		&cli.StringFlag{Name: "log-format", Usage: "write messages as `text|json`, one a line (default: text)"},
		&cli.StringFlag{Name: "config", Usage: "read defaults from the YAML `FILE`, keys as flags with underscores (default: $XDG_CONFIG_HOME/scidex-oci/config.yaml or /etc/scidex-oci/config.yaml, where they exist); its list allow_binds restricts what may be bound, that of /etc/scidex-oci/config.yaml always; its mapping runtimes gives directories the names that --runtime takes"},
	}
}

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
func settingsOf(from layers, env lookup) (settings, error) {
	s := settings{tmp: from.path("tmp", "/tmp")}
	var err error
	if s.root = from.path("root", ""); s.root == "" {
		if s.root, err = defaultRoot(os.Geteuid(), env); err != nil {
			return s, err
		}
	}
	if s.db, err = databaseFor(from, s.root); err != nil {
		return s, err
	}
	if s.blobs, err = blobsFor(from, s.root); err != nil {
		return s, err
	}
	if s.level, err = level(from); err != nil {
		return s, err
	}
	if in, given := from.given("log-format"); given {
		if s.logJSON = in.text("log-format") == "json"; !s.logJSON && in.text("log-format") != "text" {
			err = fmt.Errorf("%s %q: give text or json", in.label("log-format"), in.text("log-format"))
		}
	}
	return s, err
}

// defaultRoot follows the XDG base directory specification: a relative XDG_DATA_HOME is ignored.
func defaultRoot(uid int, env lookup) (string, error) {
	if uid == 0 {
		return "/var/lib/scidex-oci", nil
	}
	if dir := env.text("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "scidex-oci"), nil
	}
	if home := env.text("HOME"); filepath.IsAbs(home) {
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

func level(from layers) (slog.Level, error) {
	in, ok := from.given("log-level")
	if !ok {
		return slog.LevelWarn, nil
	}
	levels := []string{"debug", "info", "warn", "error"}
	i := slices.Index(levels, in.text("log-level"))
	if i < 0 {
		return 0, fmt.Errorf("%s %q: give one of %s", in.label("log-level"), in.text("log-level"), strings.Join(levels, ", "))
	}
	return []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}[i], nil
}
