from PIL import Image, ImageDraw

image = Image.new('RGB', (8, 8))
ImageDraw.Draw(image).line((0, 0, 7, 7), fill=(255, 0, 0))
image.save('line.png')
print(image.getpixel((3, 3)), sorted(Image.registered_extensions())[:3])
