#!/usr/bin/Rscript
# Pictures without a display. What R has to say of fonts it would say on standard error.

source(file.path("/analysis", "check.R"))

draw <- function(device, file, ...) {
  device(file, ...)
  plot(pressure, main = "Größe in µV", xlab = expression(alpha^2))
  lines(lowess(pressure))
  dev.off()
  readBin(file, "raw", file.size(file))
}

begins <- function(content, text) startsWith(rawToChar(content[content != 0][seq_len(nchar(text))]), text)

test("png", {
  png <- draw(grDevices::png, "/work/plot.png", width = 640, height = 400)
  stopifnot(begins(png[-1], "PNG"), identical(as.integer(png[c(19, 20, 23, 24)]), c(2L, 128L, 1L, 144L)))
  stopifnot(length(png) > 4000)
})

test("jpeg and tiff", {
  stopifnot(identical(draw(grDevices::jpeg, "/work/plot.jpg")[1:2], as.raw(c(0xff, 0xd8))))
  stopifnot(begins(draw(grDevices::tiff, "/work/plot.tif"), "II*"))
})

test("pdf", {
  stopifnot(begins(draw(grDevices::pdf, "/work/plot.pdf"), "%PDF-1.4"))
  stopifnot(begins(draw(grDevices::cairo_pdf, "/work/cairo.pdf"), "%PDF-1."))
})

test("svg", {
  picture <- rawToChar(draw(grDevices::svg, "/work/plot.svg"))
  stopifnot(startsWith(picture, "<?xml"), length(gregexpr("<glyph|<symbol|<g id=\"glyph", picture)[[1]]) > 10)
})

test("without a device of one's own", {
  plot(1:3)
  dev.off()
  stopifnot(file.exists("/work/Rplots.pdf"))
})

test("not a word of complaint", {
  program <- "png('/tmp/x.png'); plot(1); invisible(dev.off())"
  said <- system2("Rscript", c("-e", shQuote(program)), stdout = TRUE, stderr = TRUE)
  stopifnot(length(said) == 0)
})
