package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
)

// found is what an image is here.
type found struct {
	root                string // as --rootfs takes it
	digest              string // none for host and a directory
	entrypoint, command []string
}

// find looks an image up: what the config file maps its name to, or the name of an image in the store.
func (f front) find(name string) (found, error) {
	mapped, err := f.Options.Images()
	if err != nil {
		return found{}, err
	}
	bare := strings.TrimSuffix(name, ":latest")
	root := cmp.Or(mapped[name], mapped[bare], mapped[bare+":latest"])
	if root == "host" || strings.HasPrefix(root, "/") {
		return found{root: root}, nil
	}
	s, err := command.OpenImages(f.Program)
	if err != nil {
		return found{}, err
	}
	if root != "" {
		return stored(s, root)
	}
	for _, root := range []string{name, bare, bare + ":latest"} {
		if s.Known(root) == nil {
			return stored(s, root)
		}
	}
	return found{}, &image.UnknownError{Name: name}
}

// stored reads an image of the store.
func stored(s *image.Store, root string) (of found, err error) {
	one, err := s.Get(root)
	if err != nil {
		return of, err
	}
	of.root, of.digest = root, one.Digest.String()
	of.entrypoint, of.command, err = s.Command(root)
	return of, err
}

// pull gets an image that is not there.
func (f front) pull(_ context.Context, args []string) error {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return command.Usagef("docker pull takes one image, and no flag")
	}
	_, err := f.find(args[0])
	if unknown := new(image.UnknownError); errors.As(err, &unknown) && unknown.Name == args[0] { // not one that the map names
		return f.call("image", "pull", args[0])
	}
	return err
}

// images prints docker's table. Flags change nothing.
func (f front) images(context.Context, []string) error {
	mapped, err := f.Options.Images()
	if err != nil {
		return err
	}
	s, err := command.OpenImages(f.Program)
	if err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	names := mapped
	for _, one := range all {
		names[one.Name] = one.Name
	}
	fmt.Fprintln(f.Stdout, "REPOSITORY TAG IMAGE ID")
	for name := range names {
		one, err := f.find(name)
		if err != nil {
			continue // the map names an image that was removed
		}
		repository, tag := split(name)
		fmt.Fprintf(f.Stdout, "%s %s %s\n", screen.Escape(repository), screen.Escape(tag), cmp.Or(one.digest, "-"))
	}
	return nil
}

// split cuts the tag off a name.
func split(name string) (repository, tag string) {
	at := strings.LastIndexByte(name, ':')
	if at < 0 || strings.Contains(name[at:], "/") {
		return name, "latest"
	}
	return name[:at], name[at+1:]
}

func (f front) image(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "inspect" {
		return command.Usagef("docker image has only inspect")
	}
	return f.inspect(ctx, args[1:])
}

// inspect prints what is known of images, as docker's array.
func (f front) inspect(_ context.Context, args []string) error {
	type about struct {
		ID       string   `json:"Id"`
		RepoTags []string `json:"RepoTags"`
	}
	all := []about{}
	for _, name := range args {
		if strings.HasPrefix(name, "-") {
			return command.Usagef("docker inspect %s is not supported; give only images", name)
		}
		one, err := f.find(name)
		if err != nil {
			return err
		}
		all = append(all, about{cmp.Or(one.digest, one.root), []string{name}})
	}
	return screen.WriteJSON(f.Stdout, all)
}
