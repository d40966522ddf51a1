from faker import Faker

fake = Faker()
print(fake.name(), fake.random_int(0, 10 ** 9))
print(fake.address().replace(chr(10), ' '))
