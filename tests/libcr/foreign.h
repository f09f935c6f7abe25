/* SPDX-License-Identifier: GPL-2.0-only */
/* foreign.h - makes a context, in memory, one of another architecture, whole otherwise */
#ifndef LIBCR_FOREIGN_H
#define LIBCR_FOREIGN_H

#include <cryo/format.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t foreign_crc32c(const void *data, size_t length)
{
	const unsigned char *at = (const unsigned char *)data;
	uint32_t crc = ~0U;
	int bit;

	for (; length > 0; length--)
		for (crc ^= *at++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
	return ~crc;
}

static inline void foreign_index(char *payload, const struct cryo_section *head, uint32_t arch)
{
	struct cryo_index_entry *entry = (struct cryo_index_entry *)(payload + head->fixed_len);
	char *end = payload + head->length;

	for (; (char *)(entry + 1) <= end; entry++)
		if (entry->type == CRYO_SEC_CPU)
			entry->object = arch;
}

/* Header, the section about the CPU, and what the index says of that; with their checksums. */
static inline void make_foreign(char *bytes, size_t size)
{
	struct cryo_file_header *header = (struct cryo_file_header *)bytes;
	size_t at = header->header_len;
	uint32_t arch = header->arch == CRYO_ARCH_AARCH64 ? CRYO_ARCH_X86_64 : CRYO_ARCH_AARCH64;

	header->arch = arch;
	header->crc = foreign_crc32c(header, offsetof(struct cryo_file_header, crc));
	while (at + sizeof(struct cryo_section) <= size) {
		struct cryo_section *head = (struct cryo_section *)(bytes + at);
		char *payload = bytes + at + sizeof(*head) + head->pad;

		if (head->type == CRYO_SEC_CPU)
			head->object = arch;
		if (head->type == CRYO_SEC_INDEX)
			foreign_index(payload, head, arch);
		if (head->type == CRYO_SEC_CPU || head->type == CRYO_SEC_INDEX) {
			head->crc = foreign_crc32c(payload, head->length);
			head->header_crc = foreign_crc32c(head, offsetof(struct cryo_section, header_crc));
		}
		at += sizeof(*head) + head->pad + head->length;
	}
}

#endif
