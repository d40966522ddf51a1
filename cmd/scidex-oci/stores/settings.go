package stores

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Settings are the stores' locations from the global options. All paths are absolute.
type Settings struct {
	Root, Tmp string
	Blobs     blobLocation
	db        database
	level     slog.Level
	logJSON   bool
}

// At are the settings with catalog and blobs in another root.
func (s Settings) At(root string) Settings {
	s.Root, s.db, s.Blobs = root, database{file: filepath.Join(root, "catalog.db")}, blobLocation{dir: filepath.Join(root, "blobs")}
	return s
}

// PrivateSettings are those of a root that is not the user's: only the log level is taken from the options.
func PrivateSettings(root string, g *options.Global) (s Settings, err error) {
	s = Settings{Tmp: filepath.Dir(root)}.At(root)
	s.level, err = level(g.LogLevel)
	return s, err
}

// OpenCatalog opens the catalog, and makes it if it never existed.
func (s Settings) OpenCatalog(ctx context.Context) (catalog.Catalog, error) {
	return s.db.openIf(ctx, s.checkNew)
}

// Postgres is the URL of the PostgreSQL database without its secrets, "" if the catalog is a file.
func (s Settings) Postgres() string { return redacted(s.db.url) }

// Logger makes the log that writes to w.
func (s Settings) Logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.level}
	if s.logJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// ReadSettings reads the global options. It makes nothing.
func ReadSettings(g *options.Global, env options.Lookup) (Settings, error) {
	s := Settings{Tmp: g.Tmp.Path("/tmp")}
	var err error
	if s.Root = g.Root.Path(""); s.Root == "" {
		if s.Root, err = defaultRoot(os.Geteuid(), env); err != nil {
			return s, err
		}
	}
	if err = cmp.Or(checkTrusted(g.Root, s.Root), checkTrusted(g.Tmp, s.Tmp)); err != nil {
		return s, err
	}
	if s.db, err = databaseFor(g.DB, s.Root); err != nil {
		return s, err
	}
	if s.Blobs, err = blobsFor(g.Blobs, s.Root); err != nil {
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
func defaultRoot(uid int, env options.Lookup) (string, error) {
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

// redacted is a URL without its password and query, which may be secret. A plain file name is shown; any other text that is
// no URL is hidden as a whole.
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

// secretBehind reports whether what was parsed as host, path, query or fragment may be an unescaped password.
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
