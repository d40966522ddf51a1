package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Options of a harvest.
type Options struct {
	Bounds
	// Ingest is the directory that receives the copies of regular files, named 000001 and so on, mode 0600. It must be out
	// of reach of the analysis.
	Ingest *os.File
	// Exclude are globs of files and directories that are recorded as excluded and not read: ** matches any number of
	// directories, a glob without a slash matches the last component at any depth. An excluded directory is recorded once.
	Exclude []string
	// Links are scidex-oci's own symlinks in the top directory, name to exact target, which get no verdict, for
	// instance "data" to "/data".
	Links map[string]string
	// Link hard-links files into the ingest directory instead of copying, where possible and safe. They become root's, mode
	// 0400. The caller then removes the tree or gives it separate files again, as Own does: until then it shares them with
	// the ingest directory.
	Link bool
	// Resumed says that Ingest is that of a killed harvest of the same tree. Its files are taken again, with the modes that
	// the analysis had set.
	Resumed bool
	// Partial marks every output: the files open for writing at the end are not known.
	Partial bool
	// Writing are the files that were open for writing then, if known. They are marked too.
	Writing []Inode
	// Names is how many the last Measure counted; 0: it is not known. A harvest that finds more or fewer is an error.
	Names int64
}

// Totals count a harvest.
type Totals struct {
	Outputs  int64 // entries yielded as outputs
	Rejected int64 // entries yielded with a reason
	// Bytes copied. Several names of one inode count once.
	Bytes int64
}

// Harvest gives every entry below work its verdict, each exactly once, and copies the regular files that become outputs to
// the ingest directory. Nothing may write to the tree any more; a file whose size or times change while it is read is
// rejected as changed, and a name that comes, goes or is exchanged is an error.
//
// Directories themselves are not recorded, so an empty one leaves no trace. The order is the directory's own; names of an
// inode with several names come when the last of them is found.
//
// An exceeded bound, and a file that its own type, mode or attributes prove to be unreadable, is an entry with a reason. An
// error of Harvest means that the harvest is incomplete: of ctx, of MaxTime, of yield, of the ingest directory, and any error
// of a file system that an entry does not prove to be its own. The ingest directory may then hold copies that no entry names.
func Harvest(ctx context.Context, work *os.File, opts Options, yield func(Entry) error) (Totals, error) {
	exclude, err := compile(opts.Exclude)
	if err != nil {
		return Totals{}, fmt.Errorf("harvest: exclude %w", err)
	}
	w, err := newWalk(work)
	if err != nil {
		return Totals{}, fmt.Errorf("harvest: open the working directory: %w", err)
	}
	defer w.close()
	defer runtime.KeepAlive(opts.Ingest)
	bounds := opts.withDefaults()
	ctx, cancel := bounds.timed(ctx)
	defer cancel()
	h := &harvest{
		ctx: ctx, opts: opts, exclude: exclude,
		copier: newCopier(), links: make(map[fileID]*linked), writing: make(map[fileID]bool, len(opts.Writing)),
	}
	for _, inode := range opts.Writing {
		h.writing[fileID{inode.Dev, inode.Ino}] = true
	}
	defer h.closeNotes()
	if opts.Resumed {
		if err := h.resume(); err != nil {
			return h.totals, fmt.Errorf("harvest: %w", err)
		}
	}
	h.survey = survey{walk: w, bounds: bounds, pass: h.isOwnLink, skip: h.excludes, take: h, record: h.reject, special: special}
	h.queue = newQueue(ctx, yield)
	err = h.run(ctx)
	if err == nil {
		err = errors.Join(h.leftLinks(), h.compare())
	}
	if failed := h.queue.end(); err == nil {
		err = failed
	}
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = context.Cause(ctx)
	}
	if err != nil {
		return h.totals, fmt.Errorf("harvest: %w", err)
	}
	return h.totals, nil
}

// harvest is one call of Harvest.
type harvest struct {
	survey
	ctx     context.Context // of this call
	opts    Options
	queue   *queue
	exclude globs
	copier  *copier
	links   map[fileID]*linked // incomplete ones
	writing map[fileID]bool    // of Options.Writing
	linkeds int                // inodes with several names so far
	names   int                // ingest names given out
	totals  Totals
	noted   *os.File // modes of files that were linked; nil before the first
	before  modes    // those that an earlier harvest recorded
}

// compare reports whether the file system lists other names than when the tree was measured.
func (h *harvest) compare() error {
	if h.opts.Names == 0 || h.unknown || h.entries+h.below == h.opts.Names {
		return nil
	}
	return fmt.Errorf("%d names are listed now, and %d were when the analysis had ended", h.entries+h.below, h.opts.Names)
}

// isOwnLink reports whether an entry is one of Options.Links.
func (h *harvest) isOwnLink(name string, st *unix.Stat_t) (bool, error) {
	want, ok := h.opts.Links[name]
	if !ok || kind(st) != unix.S_IFLNK {
		return false, nil
	}
	target, err := beneath.Readlink(h.walk.fd(), name)
	return target == want, err
}

func (h *harvest) excludes(name string, path []byte, st *unix.Stat_t) error {
	glob, ok := h.exclude.match(path, name)
	if !ok {
		return nil
	}
	h.unknown = h.unknown || kind(st) == unix.S_IFDIR
	if kind(st) == unix.S_IFREG && st.Nlink > 1 && !h.before.original(st) {
		if err := h.link(name, st, false); err != nil {
			return err
		}
	}
	return refuse(Excluded, "matches %s", glob)
}

func (h *harvest) enter(string, *unix.Stat_t) error { return nil }

func (h *harvest) leave(int) error { return nil }

// file takes one regular file: at once, or, if its inode has several names, with the last of them.
func (h *harvest) file(name string, path []byte, st *unix.Stat_t) error {
	ours := h.before.original(st)
	if st.Nlink > 1 && !ours {
		return h.link(name, st, true)
	}
	e, contents, err := h.ingest(name, st)
	if err != nil {
		return err
	}
	return h.output(e, path, contents)
}

// ingest takes the file name of the current directory and returns the entry without its path, and without its digest if it
// returns the contents.
func (h *harvest) ingest(name string, st *unix.Stat_t) (Entry, []byte, error) {
	if st.Size > h.bounds.MaxBytes {
		return Entry{}, nil, refuse(TooLarge, "%s; the bound is %s", format.Size(st.Size), format.Size(h.bounds.MaxBytes))
	}
	if st.Size > h.bounds.MaxBytes-h.totals.Bytes {
		return Entry{}, nil, refuse(TooLarge, "%s; of the bound of %s in all, %s are left",
			format.Size(st.Size), format.Size(h.bounds.MaxBytes), format.Size(h.bounds.MaxBytes-h.totals.Bytes))
	}
	src, err := openSame(h.walk.fd(), name, st, unix.O_RDONLY)
	if err != nil {
		return Entry{}, nil, proven(h.walk.fd(), name, st, err)
	}
	defer unix.Close(src)
	into, read, err := h.takeIn(name, src, st)
	if err != nil {
		return Entry{}, nil, err
	}
	h.totals.Bytes += st.Size
	e := Entry{Size: st.Size, SHA256: read.sha256, Mode: st.Mode & 0o777, Ingest: into, Partial: h.opts.Partial || h.writing[fileID{st.Dev, st.Ino}]}
	return e, read.contents, nil
}

// takeIn puts an open file into the ingest directory and returns its name there.
func (h *harvest) takeIn(name string, src int, st *unix.Stat_t) (into string, read reading, err error) {
	if h.opts.Link && st.Nlink == 1 {
		if into, read, err = h.linkIn(name, src, st); into != "" || err != nil {
			return into, read, err
		}
	}
	dst, err := h.create()
	if err != nil {
		return "", reading{}, fmt.Errorf("ingest: %w", err)
	}
	read.sha256, err = h.copier.copy(h.ctx, src, st, dst)
	if closed := dst.Close(); err == nil && closed != nil {
		err = fmt.Errorf("ingest: %w", closed)
	}
	if err != nil {
		h.drop(dst.Name()) // the previous error counts
		return "", reading{}, err
	}
	return dst.Name(), read, nil
}

// reading is the result of a read: a file's digest, or the contents of a small one, which are in the queue's buffer.
type reading struct {
	sha256   string
	contents []byte
}

// read reads a file without moving it.
func (h *harvest) read(src int, st *unix.Stat_t) (reading, error) {
	if st.Size > smallBytes {
		sum, err := h.copier.copy(h.ctx, src, st, nil)
		return reading{sha256: sum}, err
	}
	room, err := h.queue.buffer(st.Size)
	if err != nil {
		return reading{}, err
	}
	contents, err := h.copier.whole(src, st, room)
	return reading{contents: contents}, err
}

// drop removes a name from the ingest directory.
func (h *harvest) drop(into string) { _ = unix.Unlinkat(int(h.opts.Ingest.Fd()), into, 0) }

// create makes the next file of the ingest directory. Its Name is relative to that directory.
func (h *harvest) create() (*os.File, error) {
	for {
		if err := h.ctx.Err(); err != nil {
			return nil, err
		}
		h.names++
		name := fmt.Sprintf("%06d", h.names)
		flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | quiet
		fd, err := beneath.OpenFile(int(h.opts.Ingest.Fd()), name, flags, 0o600)
		if errors.Is(err, unix.EEXIST) { // an earlier, interrupted harvest
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// output yields e, the last file taken, under path.
func (h *harvest) output(e Entry, path, contents []byte) error {
	e.Path = path
	if e.SHA256 != "" {
		e.MediaType = mediaType(path, h.copier.head)
	}
	h.totals.Outputs++
	return h.queue.add(e, contents)
}

func (h *harvest) reject(path []byte, r *refusal) error {
	h.totals.Rejected++
	e := Entry{Path: path, Rejected: r.reason}
	if r.detail != "" {
		e.Detail = []byte(r.detail)
	}
	return h.queue.add(e, nil)
}
